#include "weft/kernels/matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <utility>
#include <vector>

#include "tests/kernels/matmul_cases.h"

namespace weft::kernels {
namespace {

using testing::HasSubstr;

TEST(PackedMatrix, RoundsAndReusesItsMemory) {
  TestMatrix weight = TestMatrix::random(DType::f32, 50, 30, 2, 1);
  TestMatrix rounded = TestMatrix::random(DType::bf16, 50, 30, 0, 1);
  for (int64_t r = 0; r < 50; ++r) {
    for (int64_t c = 0; c < 30; ++c) {
      rounded.set(r, c, weight.get(r, c));
    }
  }
  PackedMatrix packed;
  EXPECT_TRUE(packed.empty());
  EXPECT_EQ(packed.k(), 0);
  packed.pack(rounded.view(), Transpose::yes, DType::bf16);
  EXPECT_FALSE(packed.empty());
  EXPECT_EQ(packed.k(), 30);
  EXPECT_EQ(packed.n(), 50);
  EXPECT_EQ(packed.dtype(), DType::bf16);
  EXPECT_GE(packed.bytes(), 30 * 50 * 2);
  const auto multiply = [&packed] {
    TestMatrix x = TestMatrix::random(DType::bf16, 9, 30, 0, 3);
    TestMatrix y = TestMatrix::random(DType::f32, 9, 50, 0, 4);
    matmul(x.view(), packed, y.view());
    return y.dense();
  };
  const auto from_bf16 = multiply();
  packed.pack(weight.view(), Transpose::yes, DType::bf16);
  EXPECT_EQ(multiply(), from_bf16);

  TestMatrix other = TestMatrix::random(DType::bf16, 50, 30, 0, 9);
  packed.pack(other.view(), Transpose::yes, DType::bf16);
  EXPECT_NE(multiply(), from_bf16);
  const PackedMatrix moved = std::move(packed);
  EXPECT_EQ(moved.n(), 50);
}

// The same object with other sizes and types, and back.
TEST(PackedMatrix, ChangesShape) {
  PackedMatrix packed;
  for (const auto& [k, n, dtype] : {std::tuple{64, 96, DType::f32},
                                    {10, 96, DType::f32},
                                    {10, 96, DType::bf16},
                                    {10, 7, DType::bf16},
                                    {64, 7, DType::bf16}}) {
    MatmulCase t{.m = 11, .n = n, .k = k};
    t.in = dtype;
    SCOPED_TRACE(to_string(t));
    MatmulTrial trial(t);
    packed.pack(trial.b.view(), Transpose::no, dtype);
    matmul(trial.a.view(), packed, trial.c.view());
    trial.expect_right();
  }
}

TEST(PackedMatrix, SaysWhatDoesNotFit) {
  std::vector<float> memory(100);
  const MutableMatrix a{memory.data(), DType::f32, 2, 3, 3};
  const MutableMatrix b{memory.data(), DType::f32, 3, 5, 5};
  const MutableMatrix c{memory.data(), DType::f32, 2, 5, 5};
  PackedMatrix packed;
  EXPECT_THAT(message_of([&] { matmul(a, packed, c); }), HasSubstr("matmul: b has not been packed; call pack() first"));
  EXPECT_THAT(message_of([&] { packed.pack(b, Transpose::no, DType::f16); }),
              HasSubstr("pack: expected f32 or bf16, got f16"));
  packed.pack(b, Transpose::no, DType::bf16);
  EXPECT_THAT(message_of([&] { matmul(a, packed, c); }),
              HasSubstr("matmul: a is f32 and the packed b is bf16; convert a or pack b as f32"));
  packed.pack(b, Transpose::yes, DType::f32);
  EXPECT_THAT(message_of([&] { matmul(a, packed, c); }), HasSubstr("matmul: the inner sizes differ"));
}

}  // namespace
}  // namespace weft::kernels
