#include "weft/kernels/onednn/transpose.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/kernels/test_matrix.h"
#include "weft/kernels/onednn/pack_bf16.h"

namespace weft::kernels {
namespace {

struct Sizes {
  int64_t rows;
  int64_t cols;
};

TEST(Transpose, MovesEveryElement) {
  for_each_target([] {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const auto& [rows, cols] : {Sizes{1, 1}, {4, 8}, {77, 65}, {64, 200}, {3, 100}, {100, 5}, {40, 33}}) {
        SCOPED_TRACE(fmt::format("{} {} {}", rows, cols, name_of(dtype)));
        const TestMatrix from = TestMatrix::random(dtype, rows, cols, 3, 1);
        TestMatrix to(dtype, cols, rows, 2);
        onednn::transpose(from.view(), to.view().data, rows + 2);
        std::vector<double> expected;
        for (int64_t c = 0; c < cols; ++c) {
          for (int64_t r = 0; r < rows; ++r) expected.push_back(from.get(r, c));
        }
        to.expect_near(expected, 0);
        ASSERT_EQ(to.dense(), expected);
      }
    }
  });
}

// Blocks of 32 by 64, those of one n together; in a block (k / 2, n, k % 2); zeros beyond the edges.
TEST(PackPairs, PutsNeighboursSideBySide) {
  for_each_target([] {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const bool transposed : {false, true}) {
        for (const auto& [k, n] : {Sizes{1, 1}, {32, 64}, {33, 65}, {100, 200}, {320, 1100}}) {
          SCOPED_TRACE(fmt::format("k {} n {} {} transposed {}", k, n, name_of(dtype), transposed));
          const TestMatrix b = TestMatrix::random(dtype, transposed ? n : k, transposed ? k : n, 1, 1);
          const int64_t k_blocks = (k + 31) / 32, n_blocks = (n + 63) / 64;
          std::vector<BFloat16> packed(k_blocks * n_blocks * 2048, BFloat16(99.0f));
          ASSERT_EQ(onednn::paired_layout(k, n).get_size(), packed.size() * sizeof(BFloat16));
          onednn::pack_pairs(b.view(), transposed, packed.data());
          std::vector<BFloat16> expected(packed.size());
          for (int64_t i = 0; i < k; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              const int64_t block = j / 64 * k_blocks + i / 32;
              expected[block * 2048 + i % 32 / 2 * 128 + j % 64 * 2 + i % 2] =
                  BFloat16(transposed ? b.get(j, i) : b.get(i, j));
            }
          }
          for (size_t i = 0; i < packed.size(); ++i) ASSERT_EQ(packed[i].bits, expected[i].bits) << i;
        }
      }
    }
  });
}

}  // namespace
}  // namespace weft::kernels
