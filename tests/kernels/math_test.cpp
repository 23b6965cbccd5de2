#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/kernels/test_matrix.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/math_test.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

enum class Function { exp, exp_nonpositive, sigmoid, tanh, erf, normal_cumulative, normal_density };

// `count` is a multiple of the lanes of any instruction set.
void evaluate(int function, const float* x, float* y, int64_t count) {
  const hn::ScalableTag<float> d;
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto v = hn::LoadU(d, x + i);
    auto result = v;
    switch (static_cast<Function>(function)) {
      case Function::exp:
        result = exp(d, v);
        break;
      case Function::exp_nonpositive:
        result = exp_nonpositive(d, v);
        break;
      case Function::sigmoid:
        result = sigmoid(d, v);
        break;
      case Function::tanh:
        result = tanh(d, v);
        break;
      case Function::erf:
        result = erf(d, v);
        break;
      case Function::normal_cumulative:
        result = normal(d, v).cumulative;
        break;
      case Function::normal_density:
        result = normal(d, v).density;
        break;
    }
    hn::StoreU(result, d, y + i);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(evaluate);

namespace {

using HWY_NAMESPACE::Function;

std::vector<float> apply(Function function, std::vector<float> x) {
  const size_t count = x.size();
  x.resize((count + 63) / 64 * 64);
  std::vector<float> y(x.size());
  HWY_DYNAMIC_DISPATCH(evaluate)(static_cast<int>(function), x.data(), y.data(), static_cast<int64_t>(x.size()));
  y.resize(count);
  return y;
}

// Every 4099th float from `low` to `high`: all exponents, and a few thousand fractions each.
std::vector<float> floats_between(float low, float high) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4099) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (value >= low && value <= high) x.push_back(value);
  }
  return x;
}

// Largest error in units of the float's last place at the result.
double worst_ulp(const std::vector<float>& x, const std::vector<float>& y) {
  double worst = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    const float rounded = static_cast<float>(exact);
    const double ulp = static_cast<double>(std::nextafter(rounded, INFINITY)) - rounded;
    worst = std::max(worst, std::abs(y[i] - exact) / ulp);
  }
  return worst;
}

template <typename Exact>
double worst_error(const std::vector<float>& x, const std::vector<float>& y, bool relative, const Exact& exact) {
  double worst = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = exact(static_cast<double>(x[i]));
    if (relative && want == 0.0) continue;
    worst = std::max(worst, std::abs(y[i] - want) / (relative ? std::abs(want) : 1.0));
  }
  return worst;
}

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

TEST(Math, ExpIsWithinTwoUlp) {
  for_each_target([] {
    const std::vector<float> x = floats_between(-86.9f, 88.7f);
    EXPECT_LE(worst_ulp(x, apply(Function::exp, x)), 2.0);
    const std::vector<float> negative = floats_between(-86.9f, 0.0f);
    EXPECT_LE(worst_ulp(negative, apply(Function::exp_nonpositive, negative)), 2.0);
  });
}

TEST(Math, ExpAtItsEnds) {
  for_each_target([] {
    const std::vector<float> y =
        apply(Function::exp, {-inf, -1e30f, -90.0f, -0.0f, 0.0f, 88.72283f, 88.72284f, 1e30f, inf, nan});
    EXPECT_EQ(y[0], 0.0f);
    EXPECT_EQ(y[1], 0.0f);
    EXPECT_EQ(y[2], 0.0f);
    EXPECT_EQ(y[3], 1.0f);
    EXPECT_EQ(y[4], 1.0f);
    EXPECT_TRUE(std::isfinite(y[5]));
    for (const size_t i : {6u, 7u, 8u}) EXPECT_EQ(y[i], inf) << i;
    EXPECT_TRUE(std::isnan(y[9]));
    EXPECT_EQ(apply(Function::exp_nonpositive, {-inf})[0], 0.0f);
    EXPECT_TRUE(std::isnan(apply(Function::exp_nonpositive, {nan})[0]));
  });
}

TEST(Math, SigmoidAndTanhKeepTheirRelativeAccuracy) {
  // Relative to the result: a handful of roundings of 6e−8.
  static constexpr double tolerance = 4e-7;
  for_each_target([] {
    const std::vector<float> x = floats_between(-86.0f, 100.0f);
    EXPECT_LE(worst_error(x, apply(Function::sigmoid, x), true, [](double v) { return 1.0 / (1.0 + std::exp(-v)); }),
              tolerance);
    const std::vector<float> wide = floats_between(-1e30f, 1e30f);
    EXPECT_LE(worst_error(wide, apply(Function::tanh, wide), true, [](double v) { return std::tanh(v); }), tolerance);
    const std::vector<float> ends = apply(Function::sigmoid, {-inf, inf, nan});
    EXPECT_EQ(ends[0], 0.0f);
    EXPECT_EQ(ends[1], 1.0f);
    EXPECT_TRUE(std::isnan(ends[2]));
    EXPECT_TRUE(std::isnan(apply(Function::tanh, {nan})[0]));
  });
}

TEST(Math, ErfAndTheNormalDistribution) {
  for_each_target([] {
    const std::vector<float> x = floats_between(-1e30f, 1e30f);
    // Absolute, of results in [−1, 1]: two units in the last place at 1.
    EXPECT_LE(worst_error(x, apply(Function::erf, x), false, [](double v) { return std::erf(v); }), 1.3e-7);
    const auto exact_cdf = [](double v) { return 0.5 * std::erfc(-v / std::sqrt(2.0)); };
    EXPECT_LE(worst_error(x, apply(Function::normal_cumulative, x), false, exact_cdf), 1.3e-7);
    const auto exact_density = [](double v) { return std::exp(-v * v / 2) / std::sqrt(2 * M_PI); };
    EXPECT_LE(worst_error(x, apply(Function::normal_density, x), false, exact_density), 1e-7);
    // The lower tail relative to itself: rounding x² costs x²/2 · 6e−8, the fit 6e−6.
    const std::vector<float> tail = floats_between(-12.0f, -1.0f);
    EXPECT_LE(worst_error(tail, apply(Function::normal_cumulative, tail), true, exact_cdf), 1.2e-5);
    EXPECT_EQ(apply(Function::erf, {inf})[0], 1.0f);
    EXPECT_EQ(apply(Function::erf, {-inf})[0], -1.0f);
    EXPECT_TRUE(std::isnan(apply(Function::erf, {nan})[0]));
    EXPECT_TRUE(std::isnan(apply(Function::normal_cumulative, {nan})[0]));
  });
}

}  // namespace
}  // namespace weft::kernels
#endif  // HWY_ONCE
