#include "weft/kernels/matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/matmul_cases.h"

namespace weft::kernels {
namespace {

using testing::HasSubstr;

struct BatchCase {
  int64_t count = 0;
  Transpose transpose_a = Transpose::no;
  Transpose transpose_b = Transpose::no;
  DType in = DType::f32;
  DType out = DType::f32;
  bool interleaved = false;  // matrix i in columns i · cols of (rows, count · cols), as heads lie
  bool shared_b = false;
  bool accumulate = false;
};

void check_batched(const BatchCase& t, int64_t m, int64_t n, int64_t k) {
  SCOPED_TRACE(fmt::format("count {} transposed {}{} {} -> {} interleaved {} shared {} accumulate {}", t.count,
                           t.transpose_a == Transpose::yes, t.transpose_b == Transpose::yes, name_of(t.in),
                           name_of(t.out), t.interleaved, t.shared_b, t.accumulate));
  const auto make = [&](int64_t rows, int64_t cols, DType dtype, uint64_t seed) {
    return t.interleaved ? TestMatrix::random(dtype, rows, t.count * cols, 0, seed, 1.0f)
                         : TestMatrix::random(dtype, t.count * rows, cols, 0, seed, 1.0f);
  };
  const bool ta = t.transpose_a == Transpose::yes;
  const bool tb = t.transpose_b == Transpose::yes;
  const int64_t a_rows = ta ? k : m, a_cols = ta ? m : k, b_rows = tb ? n : k, b_cols = tb ? k : n;
  TestMatrix a = make(a_rows, a_cols, t.in, 1), b = make(b_rows, b_cols, t.in, 2), c = make(m, n, t.out, 3);
  const auto item = [&](const TestMatrix& all, int64_t i, int64_t rows, int64_t cols) {
    std::vector<double> values;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t s = 0; s < cols; ++s) {
        values.push_back(t.interleaved ? all.get(r, i * cols + s) : all.get(i * rows + r, s));
      }
    }
    return values;
  };
  std::vector<std::vector<double>> expected;
  for (int64_t i = 0; i < t.count; ++i) {
    expected.push_back(item(c, i, m, n));
    portable::matmul<double>({m, n, k}, item(a, i, a_rows, a_cols).data(), t.transpose_a,
                             item(b, t.shared_b ? 0 : i, b_rows, b_cols).data(), t.transpose_b, expected[i].data(),
                             {.accumulate = t.accumulate});
  }
  const auto one = [&](TestMatrix& all, int64_t rows, int64_t cols) {
    MutableMatrix view = all.view();
    view.rows = rows;
    view.cols = cols;
    return view;
  };
  const auto stride = [&](int64_t rows, int64_t cols) { return t.interleaved ? cols : rows * cols; };
  batched_matmul({t.count, stride(a_rows, a_cols), t.shared_b ? 0 : stride(b_rows, b_cols), stride(m, n)},
                 one(a, a_rows, a_cols), t.transpose_a, one(b, b_rows, b_cols), t.transpose_b, one(c, m, n),
                 t.accumulate);
  std::vector<double> all_expected;
  for (int64_t row = 0; row < (t.interleaved ? m : t.count * m); ++row) {
    for (int64_t i = 0; i < t.count; ++i) {
      if (!t.interleaved && i != row / m) continue;
      const auto begin = expected[i].begin() + (t.interleaved ? row : row % m) * n;
      all_expected.insert(all_expected.end(), begin, begin + n);
    }
  }
  c.expect_near(all_expected, product_tolerance(k));
}

TEST(BatchedMatmul, LayoutsTransposesAndTypes) {
  for (const Transpose ta : transposes) {
    for (const Transpose tb : transposes) {
      for (const DType in : types) {
        for (const DType out : types) {
          for (int mask = 0; mask < 8; ++mask) {
            for (const int64_t count : {1, 6}) {
              check_batched({count, ta, tb, in, out, (mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0}, 17, 9, 20);
            }
          }
        }
      }
    }
  }
}

TEST(BatchedMatmul, EmptySizes) {
  check_batched({.count = 0}, 3, 4, 5);
  check_batched({.count = 3}, 0, 4, 5);
  check_batched({.count = 3}, 4, 5, 0);
  check_batched({.count = 3, .accumulate = true}, 4, 5, 0);
}

TEST(BatchedMatmul, SaysWhatDoesNotFit) {
  std::vector<float> memory(100);
  const MutableMatrix x{memory.data(), DType::f32, 2, 2, 2};
  const auto batched = [&](const BatchStrides& batch) {
    return message_of([&] { batched_matmul(batch, x, Transpose::no, x, Transpose::no, x); });
  };
  EXPECT_THAT(batched({-1, 4, 4, 4}), HasSubstr("batched_matmul: expected a count ≥ 0, got -1"));
  EXPECT_THAT(batched({2, -4, 4, 4}), HasSubstr("batched_matmul: expected batch strides ≥ 0, got -4, 4, 4"));
  EXPECT_THAT(batched({2, 4, 4, 0}), HasSubstr("batched_matmul: 2 products would be written to one place"));
}

}  // namespace
}  // namespace weft::kernels
