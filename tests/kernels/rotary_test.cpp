#include "weft/kernels/rotary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/kernels/comparison.h"
#include "tests/kernels/test_matrix.h"
#include "weft/base/error.h"
#include "weft/kernels/portable/rotary.h"

namespace weft::kernels {
namespace {

constexpr RotaryLayout layouts[] = {RotaryLayout::interleaved, RotaryLayout::half_split};

// Heads of `head_dim` side by side in the columns of a matrix of tokens.
MutableHeads heads_of(TestMatrix& x, int64_t head_dim) {
  const MutableMatrix m = x.view();
  return {m.data, m.dtype, m.stride, head_dim};
}

std::vector<int32_t> some_positions(int64_t tokens) {
  std::vector<int32_t> positions;
  for (int64_t t = 0; t < tokens; ++t) positions.push_back(static_cast<int32_t>(t % 5 == 4 ? 100000 + t : t * 7 % 40));
  return positions;
}

struct Case {
  int64_t tokens, heads, head_dim, rotary_dim;
};
constexpr Case cases[] = {{0, 2, 8, 8}, {1, 1, 2, 2}, {3, 2, 6, 0}, {7, 3, 10, 6}, {12, 2, 64, 64}, {40, 4, 80, 66}};

void check_case(const Case& c, RotaryLayout layout, DType dtype, bool inverse) {
  TestMatrix x = TestMatrix::random(dtype, c.tokens, c.heads * c.head_dim, 3, 1);
  std::vector<double> expected = x.dense();
  const std::vector<int32_t> positions = some_positions(c.tokens);
  const Rotary rotary{layout, c.rotary_dim, 10000.0};
  rotary_apply(rotary, positions.data(), c.tokens, c.heads, inverse, heads_of(x, c.head_dim));
  portable::rotary_apply(rotary, positions.data(), c.tokens, c.heads, c.head_dim, inverse, expected.data());
  // Relative to max(1, |x|): cosine, sine, two products and a sum, 6e−8 each of numbers up to some 8. An angle of
  // 100000 kept in f32 would be wrong by 4e−3.
  x.expect_near(expected, 2e-6);
}

TEST(Rotary, AgreesWithThePortableFormula) {
  for_each_target([] {
    for (const Case& c : cases) {
      for (const RotaryLayout layout : layouts) {
        for (const DType dtype : {DType::f32, DType::bf16}) {
          SCOPED_TRACE(testing::Message() << c.rotary_dim << " of " << c.head_dim << " " << name_of(dtype));
          check_case(c, layout, dtype, false);
          check_case(c, layout, dtype, true);
        }
      }
    }
  });
}

TEST(Rotary, TurnsAUnitVectorByItsAngle) {
  const int32_t position = 3;
  for (const RotaryLayout layout : layouts) {
    TestMatrix x(DType::f32, 1, 4);
    for (int64_t c = 0; c < 4; ++c) x.set(0, c, 0.0f);
    const int64_t partner = layout == RotaryLayout::interleaved ? 3 : 3,
                  self = layout == RotaryLayout::interleaved ? 2 : 1;
    x.set(0, self, 1.0f);  // the second pair turns by 3 · 100^(−2/4)
    rotary_apply({layout, 4, 100.0}, &position, 1, 1, false, heads_of(x, 4));
    EXPECT_FLOAT_EQ(x.get(0, self), std::cos(0.3f));
    EXPECT_FLOAT_EQ(x.get(0, partner), std::sin(0.3f));
  }
}

TEST(Rotary, InverseIsTheGradient) {
  // ⟨turn(x), dy⟩ = ⟨x, turn back(dy)⟩ for every x: the inverse is the transpose.
  constexpr int64_t tokens = 3, heads = 2, head_dim = 8;
  const std::vector<int32_t> positions = some_positions(tokens);
  for (const RotaryLayout layout : layouts) {
    const Rotary rotary{layout, 6, 500.0};
    std::vector<double> x = widen(random_floats(tokens * heads * head_dim, 2));
    const std::vector<double> dy = widen(random_floats(tokens * heads * head_dim, 3));
    const auto loss = [&] {
      std::vector<double> y = x;
      portable::rotary_apply(rotary, positions.data(), tokens, heads, head_dim, false, y.data());
      double sum = 0.0;
      for (size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
      return sum;
    };
    std::vector<double> gradient = dy;
    portable::rotary_apply(rotary, positions.data(), tokens, heads, head_dim, true, gradient.data());
    // Relative to the largest: the loss is linear, so only its rounding over the step of 1e−5 is left.
    EXPECT_LE(relative_error(gradient, numeric_gradient(x, loss)), 1e-9);
  }
}

TEST(Rotary, ThreadsDoNotChangeBits) {
  constexpr int64_t tokens = 600, heads = 3, head_dim = 64;
  const std::vector<int32_t> positions = some_positions(tokens);
  std::vector<TestMatrix> results;
  for (const int threads : {1, 2}) {
    TestMatrix& x = results.emplace_back(TestMatrix::random(DType::f32, tokens, heads * head_dim, 0, 4));
    with_threads(threads, [&] {
      rotary_apply({RotaryLayout::half_split, 64, 10000.0}, positions.data(), tokens, heads, false,
                   heads_of(x, head_dim));
    });
  }
  EXPECT_EQ(results[0].bytes(), results[1].bytes());
}

TEST(Rotary, ManySettingsAndPositionsStayRight) {
  // More tables than are kept, asked for in turn, so that some are made again.
  for (int round = 0; round < 2; ++round) {
    for (int64_t rotary_dim = 2; rotary_dim <= 16; rotary_dim += 2) {
      check_case({20, 1, 16, rotary_dim}, RotaryLayout::half_split, DType::f32, false);
    }
  }
}

TEST(Rotary, SaysWhatDoesNotFit) {
  TestMatrix x = TestMatrix::random(DType::f32, 2, 8, 0, 5);
  const std::array<int32_t, 2> good{0, 1}, bad{0, -3};
  const auto apply = [&](const Rotary& rotary, const std::array<int32_t, 2>& positions, int64_t heads) {
    return message_of([&] { rotary_apply(rotary, positions.data(), 2, heads, false, heads_of(x, 8 / heads)); });
  };
  EXPECT_EQ(apply({RotaryLayout::half_split, 3, 10000.0}, good, 1), "rotary_apply: expected an even rotary_dim, got 3");
  EXPECT_EQ(apply({RotaryLayout::half_split, 4, 10000.0}, bad, 1), "rotary_apply: position -3 of token 1 is negative");
  EXPECT_EQ(apply({RotaryLayout::half_split, 8, 10000.0}, good, 2),
            "rotary_apply: heads that lie 4 elements apart overlap in rotary_dim 8");
  EXPECT_EQ(apply({RotaryLayout::half_split, 4, 0.0}, good, 1), "rotary_apply: expected a positive base, got 0");
}

}  // namespace
}  // namespace weft::kernels
