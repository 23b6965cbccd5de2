#include "weft/kernels/softmax.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/kernels/comparison.h"
#include "tests/kernels/test_matrix.h"
#include "weft/kernels/portable/softmax.h"

namespace weft::kernels {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct Size {
  int64_t rows, cols, gap;
};
const Size sizes[] = {{0, 5, 0}, {3, 0, 0}, {1, 1, 0}, {7, 33, 5}, {64, 64, 0}, {3, 1029, 7}, {65, 51, 1}};
const DType dtypes[] = {DType::f32, DType::bf16};

// f32: sums of up to a thousand terms and the exponential's own error (1 ulp), relative to the largest element. bf16:
// half a unit in the last place of the stored result.
double tolerance(DType dtype) { return dtype == DType::bf16 ? 0x1.02p-8 : 2e-6; }

void expect_close(const TestMatrix& got, const std::vector<double>& expected, double tolerance) {
  got.expect_near(expected, tolerance);
  EXPECT_LE(relative_error(got.dense(), expected), tolerance);
}

TEST(SoftmaxForward, AgreesWithTheOracle) {
  for_each_target([] {
    for (const Size& size : sizes) {
      for (DType a : dtypes) {
        for (DType b : dtypes) {
          const TestMatrix x = TestMatrix::random(a, size.rows, size.cols, size.gap, 1, 4.0f);
          TestMatrix y(b, size.rows, size.cols, size.gap + 1);
          const std::vector<double> input = x.dense();
          std::vector<double> expected(input.size());
          portable::softmax_forward(size.rows, size.cols, input.data(), expected.data());
          softmax_forward(x.view(), y.view());
          expect_close(y, expected, tolerance(b));
        }
      }
    }
  });
}

TEST(SoftmaxForward, InfinitiesAndNaN) {
  for_each_target([] {
    TestMatrix x = TestMatrix::random(DType::f32, 5, 19, 0, 1);
    for (int64_t c = 0; c < 19; ++c) x.set(1, c, -infinity);  // all masked: zeros
    x.set(0, 3, -infinity);                                   // weight 0
    x.set(2, 18, std::nanf(""));                              // the whole row NaN
    x.set(3, 4, infinity);                                    // ∞ − ∞: the whole row NaN
    for (int64_t c = 0; c < 18; ++c) x.set(4, c, -infinity);
    x.set(4, 18, std::nanf(""));  // NaN is not hidden by masked neighbours
    softmax_forward(x.view(), x.view());
    EXPECT_EQ(x.get(0, 3), 0.0f);
    EXPECT_GT(x.get(0, 0), 0.0f);
    for (int64_t c = 0; c < 19; ++c) {
      EXPECT_EQ(x.get(1, c), 0.0f);
      for (int64_t r : {2, 3, 4}) EXPECT_TRUE(std::isnan(x.get(r, c))) << r << ", " << c;
    }
  });
}

TEST(SoftmaxForward, LargeLogitsDoNotOverflow) {
  TestMatrix x(DType::f32, 1, 3);
  for (int64_t c = 0; c < 3; ++c) x.set(0, c, 3e38f);
  softmax_forward(x.view(), x.view());
  for (int64_t c = 0; c < 3; ++c) EXPECT_FLOAT_EQ(x.get(0, c), 1.0f / 3.0f);
}

TEST(SoftmaxBackward, AgreesWithTheOracle) {
  for_each_target([] {
    for (const Size& size : sizes) {
      for (DType y_type : dtypes) {
        for (DType dy_type : dtypes) {
          for (DType dx_type : dtypes) {
            TestMatrix y = TestMatrix::random(y_type, size.rows, size.cols, size.gap, 1);
            TestMatrix dy = TestMatrix::random(dy_type, size.rows, size.cols, 0, 2, 1.0f);
            TestMatrix dx(dx_type, size.rows, size.cols, size.gap + 1);
            softmax_forward(y.view(), y.view());
            const std::vector<double> weights = y.dense(), gradient = dy.dense();
            std::vector<double> expected(weights.size());
            portable::softmax_backward(size.rows, size.cols, weights.data(), gradient.data(), expected.data());
            softmax_backward(y.view(), dy.view(), dx.view());
            expect_close(dx, expected, tolerance(dx_type));
            softmax_backward(y.view(), dy.view(), dy.view());  // in place
            expect_close(dy, expected, tolerance(dy_type));
          }
        }
      }
    }
  });
}

TEST(SoftmaxBackward, IsTheGradient) {
  constexpr int64_t rows = 3, cols = 7;
  std::vector<double> x(rows * cols), y(x.size()), dy(x.size()), dx(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = Rng{1, 0}.normal(i);
    dy[i] = Rng{2, 0}.normal(i);
  }
  x[2] = -std::numeric_limits<double>::infinity();
  const auto loss = [&] {
    portable::softmax_forward(rows, cols, x.data(), y.data());
    double sum = 0.0;
    for (size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
    return sum;
  };
  const std::vector<double> expected = numeric_gradient(x, loss);
  loss();
  portable::softmax_backward(rows, cols, y.data(), dy.data(), dx.data());
  // Central differences in double with step 1e-5: about 1e-10 of truncation and as much of rounding.
  EXPECT_LE(relative_error(dx, expected), 1e-8);
}

TEST(Softmax, SameBitsForAnyThreadCount) {
  const TestMatrix x = TestMatrix::random(DType::f32, 400, 130, 0, 1);
  TestMatrix one(DType::f32, 400, 130), two(DType::f32, 400, 130);
  with_threads(1, [&] { softmax_forward(x.view(), one.view()); });
  with_threads(2, [&] { softmax_forward(x.view(), two.view()); });
  EXPECT_EQ(one.bytes(), two.bytes());
}

TEST(SoftmaxErrors, NameTheMatrixThatDoesNotFit) {
  TestMatrix x(DType::f32, 3, 4), y(DType::f32, 2, 4);
  EXPECT_EQ(message_of([&] { softmax_forward(x.view(), y.view()); }), "softmax_forward: y must be (3, 4), got (2, 4)");
  EXPECT_EQ(message_of([&] { softmax_backward(x.view(), y.view(), x.view()); }),
            "softmax_backward: dy must be (3, 4), got (2, 4)");
}

}  // namespace
}  // namespace weft::kernels
