#include "weft/kernels/activation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/kernels/comparison.h"
#include "tests/kernels/test_matrix.h"
#include "weft/base/error.h"
#include "weft/kernels/portable/activation.h"

namespace weft::kernels {
namespace {

constexpr Activation all_activations[] = {Activation::none,      Activation::relu, Activation::gelu,
                                          Activation::gelu_tanh, Activation::silu, Activation::tanh};
constexpr DType all_dtypes[] = {DType::f32, DType::bf16};

// Relative to max(1, |result|): results are products of x (|x| up to about 8 here) with factors near 1, each of a few
// roundings of 6e−8.
constexpr double tolerance = 2e-6;

struct Size {
  int64_t rows, cols, gap;
};
constexpr Size sizes[] = {{0, 5, 0}, {3, 0, 2}, {1, 1, 0}, {2, 7, 3}, {5, 16, 0}, {3, 33, 1}, {20, 517, 5}};

void check_plain(Activation activation, const Size& size, DType in, DType out) {
  const TestMatrix x = TestMatrix::random(in, size.rows, size.cols, size.gap, 1);
  const TestMatrix dy = TestMatrix::random(out, size.rows, size.cols, size.gap + 1, 2);
  TestMatrix y(out, size.rows, size.cols, size.gap + 2), dx(in, size.rows, size.cols, size.gap);
  activation_forward(activation, x.view(), y.view());
  activation_backward(activation, x.view(), dy.view(), dx.view());

  std::vector<double> value = x.dense(), slope = dy.dense();
  for (size_t i = 0; i < value.size(); ++i) {
    slope[i] *= portable::activation_slope(activation, value[i]);
    value[i] = portable::activate(activation, value[i]);
  }
  y.expect_near(value, tolerance);
  dx.expect_near(slope, tolerance);
}

void check_gated(Activation activation, const Size& size, DType in, DType out) {
  const TestMatrix x = TestMatrix::random(in, size.rows, 2 * size.cols, size.gap, 3);
  const TestMatrix dy = TestMatrix::random(out, size.rows, size.cols, size.gap, 4);
  TestMatrix y(out, size.rows, size.cols, size.gap + 2), dx(in, size.rows, 2 * size.cols, size.gap + 1);
  gated_forward(activation, x.view(), y.view());
  gated_backward(activation, x.view(), dy.view(), dx.view());

  std::vector<double> value(size.rows * size.cols), gradient(2 * size.rows * size.cols);
  portable::gated_forward(activation, x.dense().data(), size.rows, size.cols, value.data());
  portable::gated_backward(activation, x.dense().data(), dy.dense().data(), size.rows, size.cols, gradient.data());
  y.expect_near(value, 4 * tolerance);  // products of two and three normal numbers
  dx.expect_near(gradient, 4 * tolerance);
}

TEST(Activation, AgreesWithThePortableFormulas) {
  for_each_target([] {
    for (const Size& size : sizes) {
      for (const Activation activation : all_activations) {
        for (const DType in : all_dtypes) {
          for (const DType out : all_dtypes) {
            SCOPED_TRACE(testing::Message() << static_cast<int>(activation) << " " << size.rows << "x" << size.cols
                                            << " " << name_of(in) << " to " << name_of(out));
            check_plain(activation, size, in, out);
            check_gated(activation, size, in, out);
          }
        }
      }
    }
  });
}

TEST(Activation, ExactGeluIsWithinOneMillionth) {
  constexpr int64_t count = 4001;
  TestMatrix x(DType::f32, 1, count), y(DType::f32, 1, count);
  for (int64_t i = 0; i < count; ++i) x.set(0, i, static_cast<float>(i - 2000) * 0.005f);
  activation_forward(Activation::gelu, x.view(), y.view());
  for (int64_t i = 0; i < count; ++i) {
    const double value = x.get(0, i), expected = portable::activate(Activation::gelu, value);
    // Absolute for |x| ≤ 1 and relative to |x| beyond, of which the error of Φ is a factor of 1e−7.
    EXPECT_NEAR(y.get(0, i), expected, 1e-6 * std::max(1.0, std::abs(value)) / 4) << value;
  }
}

TEST(Activation, SlopesAreTheDerivatives) {
  for (const Activation activation : all_activations) {
    for (double x = -6.05; x < 6.0; x += 0.3) {
      constexpr double step = 1e-5;
      const double difference =
          (portable::activate(activation, x + step) - portable::activate(activation, x - step)) / (2 * step);
      // Absolute, slopes being near 1: third derivatives give 1e−10, rounding 1e−16 / step = 1e−11.
      EXPECT_NEAR(portable::activation_slope(activation, x), difference, 1e-9) << static_cast<int>(activation);
    }
  }
}

TEST(Activation, GatedGradientsAreTheDerivatives) {
  constexpr int64_t rows = 2, cols = 3;
  const std::vector<double> x = TestMatrix::random(DType::f32, rows, 2 * cols, 0, 5).dense();
  const std::vector<double> dy = TestMatrix::random(DType::f32, rows, cols, 0, 6).dense();
  for (const Activation activation : all_activations) {
    const auto loss = [&](std::vector<double> moved, size_t i, double step) {
      moved[i] += step;
      std::vector<double> y(rows * cols);
      portable::gated_forward(activation, moved.data(), rows, cols, y.data());
      double sum = 0.0;
      for (size_t j = 0; j < y.size(); ++j) sum += y[j] * dy[j];
      return sum;
    };
    std::vector<double> dx(x.size());
    portable::gated_backward(activation, x.data(), dy.data(), rows, cols, dx.data());
    for (size_t i = 0; i < x.size(); ++i) {
      constexpr double step = 1e-5;
      // Absolute, gradients being of the order of 1 to 10: rounding of the loss 1e−15 / step.
      EXPECT_NEAR(dx[i], (loss(x, i, step) - loss(x, i, -step)) / (2 * step), 1e-8);
    }
  }
}

TEST(Activation, PassesNanAndInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for_each_target([&] {
    for (const Activation activation : all_activations) {
      TestMatrix x(DType::f32, 1, 4), y(DType::f32, 1, 4), dy(DType::f32, 1, 4), dx(DType::f32, 1, 4);
      for (int64_t c = 0; c < 4; ++c) dy.set(0, c, 1.0f);
      x.set(0, 0, nan);
      x.set(0, 1, inf);
      x.set(0, 2, -0.0f);
      x.set(0, 3, -1e30f);
      activation_forward(activation, x.view(), y.view());
      EXPECT_TRUE(std::isnan(y.get(0, 0)));
      EXPECT_EQ(y.get(0, 1), activation == Activation::tanh ? 1.0f : inf);
      EXPECT_EQ(y.get(0, 2), 0.0f);
      EXPECT_EQ(y.get(0, 3), static_cast<float>(portable::activate(activation, -1e30)));
      activation_backward(activation, x.view(), dy.view(), dx.view());
      const bool smooth = activation != Activation::none && activation != Activation::relu;
      EXPECT_EQ(std::isnan(dx.get(0, 0)), smooth);
      EXPECT_EQ(dx.get(0, 2), static_cast<float>(portable::activation_slope(activation, 0.0)));
    }
  });
}

TEST(Activation, BackwardWorksInPlace) {
  const TestMatrix x = TestMatrix::random(DType::f32, 9, 37, 0, 7);
  TestMatrix dy = TestMatrix::random(DType::f32, 9, 37, 0, 8), dx(DType::f32, 9, 37);
  activation_backward(Activation::gelu, x.view(), dy.view(), dx.view());
  activation_backward(Activation::gelu, x.view(), dy.view(), dy.view());
  EXPECT_EQ(dy.bytes(), dx.bytes());
}

TEST(Activation, ThreadsDoNotChangeBits) {
  const TestMatrix x = TestMatrix::random(DType::f32, 301, 514, 0, 9);
  const TestMatrix dy = TestMatrix::random(DType::bf16, 301, 257, 0, 10);
  std::vector<TestMatrix> ys, dxs;
  for (const int threads : {1, 2}) {
    with_threads(threads, [&] {
      gated_forward(Activation::silu, x.view(), ys.emplace_back(DType::bf16, 301, 257).view());
      gated_backward(Activation::silu, x.view(), dy.view(), dxs.emplace_back(DType::f32, 301, 514).view());
    });
  }
  EXPECT_EQ(ys[0].bytes(), ys[1].bytes());
  EXPECT_EQ(dxs[0].bytes(), dxs[1].bytes());
}

TEST(Activation, SaysWhatDoesNotFit) {
  TestMatrix x(DType::f32, 2, 6), y(DType::f32, 2, 5);
  EXPECT_THAT(message_of([&] { activation_forward(Activation::relu, x.view(), y.view()); }),
              testing::HasSubstr("activation_forward: y must be (2, 6), got (2, 5)"));
  EXPECT_THAT(message_of([&] { activation_backward(Activation::relu, x.view(), y.view(), x.view()); }),
              testing::HasSubstr("activation_backward: dy must be (2, 6), got (2, 5)"));
  EXPECT_THAT(message_of([&] { gated_forward(Activation::silu, x.view(), y.view()); }),
              testing::HasSubstr("gated_forward: x = [gate | up] must be (2, 10), got (2, 6)"));
  MutableMatrix half = x.view();
  half.dtype = DType::f16;
  EXPECT_THAT(message_of([&] { activation_forward(Activation::relu, half, x.view()); }),
              testing::HasSubstr("x must be f32 or bf16, got f16"));
}

}  // namespace
}  // namespace weft::kernels
