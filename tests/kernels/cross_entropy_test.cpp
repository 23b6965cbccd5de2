#include "weft/kernels/cross_entropy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/kernels/comparison.h"
#include "tests/kernels/test_matrix.h"
#include "weft/base/error.h"
#include "weft/kernels/portable/cross_entropy.h"

namespace weft::kernels {
namespace {

constexpr DType all_dtypes[] = {DType::f32, DType::bf16};

std::vector<int32_t> random_targets(int64_t rows, int64_t v, bool some_ignored) {
  const Rng rng{11, 3};
  std::vector<int32_t> targets;
  for (int64_t r = 0; r < rows; ++r) {
    const uint64_t i = static_cast<uint64_t>(r);
    targets.push_back(some_ignored && r % 4 == 1 ? -100 : static_cast<int32_t>(rng.below(static_cast<uint64_t>(v), i)));
  }
  return targets;
}

void expect_losses(const std::vector<double>& expected, const std::vector<float>& losses) {
  // Relative to max(1, loss): roundings of the largest logit and of each of at most 2048 exponentials added in a lane.
  constexpr double tolerance = 4e-6;
  for (size_t r = 0; r < losses.size(); ++r) {
    EXPECT_NEAR(losses[r], expected[r], tolerance * std::max(1.0, std::abs(expected[r]))) << "row " << r;
  }
}

struct Case {
  int64_t rows, v, gap;
  float smoothing;
  bool some_ignored;
};

void check_case(const Case& c, DType in, DType out) {
  const TestMatrix logits = TestMatrix::random(in, c.rows, c.v, c.gap, 12, 3.0f);
  const std::vector<int32_t> targets = random_targets(c.rows, c.v, c.some_ignored);
  const CrossEntropyRows rows{logits.view(), targets.data(), -100, c.smoothing};
  std::vector<float> losses(c.rows), losses_again(c.rows);
  std::vector<uint8_t> correct(c.rows, 2);
  TestMatrix d_logits(out, c.rows, c.v, c.gap + 3);
  const float scale = 0.25f;
  cross_entropy_forward(rows, losses.data(), correct.data());
  cross_entropy_backward(rows, scale, d_logits.view(), losses_again.data());

  const std::vector<double> x = logits.dense();
  const portable::CrossEntropyRows<double> oracle{x.data(), c.rows, c.v, targets.data(), -100, c.smoothing};
  std::vector<double> expected(c.rows), gradient(x.size());
  std::vector<uint8_t> expected_correct(c.rows);
  portable::cross_entropy_forward(oracle, expected.data(), expected_correct.data());
  portable::cross_entropy_backward<double>(oracle, scale, gradient.data());
  expect_losses(expected, losses);
  expect_losses(expected, losses_again);
  EXPECT_EQ(correct, expected_correct);
  // Absolute, of numbers of at most `scale`: a probability is within some 4e−6 of itself as above.
  d_logits.expect_near(gradient, 1e-6);
}

TEST(CrossEntropy, AgreesWithThePortableFormula) {
  const Case cases[] = {{0, 5, 0, 0.0f, false},    {1, 1, 0, 0.0f, false},   {3, 2, 1, 0.1f, false},
                        {40, 65, 0, 0.0f, true},   {7, 65, 3, 0.1f, true},   {3, 2048, 0, 0.0f, true},
                        {2, 2049, 0, 0.2f, false}, {5, 7001, 7, 0.1f, true}, {2, 50257, 0, 0.0f, false}};
  for_each_target([&] {
    for (const Case& c : cases) {
      for (const DType in : all_dtypes) {
        for (const DType out : all_dtypes) {
          SCOPED_TRACE(testing::Message() << c.rows << "x" << c.v << " " << name_of(in) << " to " << name_of(out));
          check_case(c, in, out);
        }
      }
    }
  });
}

TEST(CrossEntropy, GradientIsTheDerivative) {
  constexpr int64_t v = 5;
  const std::vector<double> x = TestMatrix::random(DType::f32, 1, v, 0, 13).dense();
  const int32_t target = 3;
  for (const double smoothing : {0.0, 0.1}) {
    const auto loss = [&](size_t i, double step) {
      std::vector<double> moved = x;
      moved[i] += step;
      double result = 0.0;
      portable::cross_entropy_forward<double>({moved.data(), 1, v, &target, -100, smoothing}, &result, nullptr);
      return result;
    };
    std::vector<double> gradient(v);
    portable::cross_entropy_backward<double>({x.data(), 1, v, &target, -100, smoothing}, 2.0, gradient.data());
    for (size_t i = 0; i < v; ++i) {
      constexpr double step = 1e-5;
      // Absolute: rounding of a loss of order 1 over the step.
      EXPECT_NEAR(gradient[i], 2.0 * (loss(i, step) - loss(i, -step)) / (2 * step), 1e-9);
    }
  }
}

TEST(CrossEntropy, GradientMayReplaceLogits) {
  for (const DType dtype : all_dtypes) {
    for (const int64_t v : {65, 5000}) {
      TestMatrix logits = TestMatrix::random(dtype, 6, v, 2, 14), d_logits(dtype, 6, v, 2);
      const std::vector<int32_t> targets = random_targets(6, v, true);
      const CrossEntropyRows rows{logits.view(), targets.data(), -100, 0.1f};
      cross_entropy_backward(rows, 0.5f, d_logits.view(), nullptr);
      cross_entropy_backward(rows, 0.5f, logits.view(), nullptr);
      EXPECT_EQ(logits.bytes(), d_logits.bytes());
    }
  }
}

TEST(CrossEntropy, HandlesExtremeLogits) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  constexpr int64_t v = 3000;  // two tiles, the first of them −∞ alone in row 0
  for_each_target([&] {
    TestMatrix logits(DType::f32, 5, v), d_logits(DType::f32, 5, v);
    for (int64_t c = 0; c < v; ++c) {
      logits.set(0, c, c < 2500 ? -inf : 1.0f);
      logits.set(1, c, c == 2900 ? nan : 0.0f);
      logits.set(2, c, -inf);
      logits.set(3, c, c == 7 ? 3e38f : -3e38f);
      logits.set(4, c, nan);
    }
    const int32_t targets[] = {2500, 5, 0, 7, -100};
    float losses[5];
    uint8_t correct[5];
    cross_entropy_forward({logits.view(), targets}, losses, correct);
    cross_entropy_backward({logits.view(), targets}, 1.0f, d_logits.view(), nullptr);
    EXPECT_NEAR(losses[0], std::log(500.0), 1e-5);  // absolute: roundings of a number near 6
    EXPECT_TRUE(correct[0]);
    EXPECT_EQ(d_logits.get(0, 3), 0.0f);
    EXPECT_NEAR(d_logits.get(0, 2600), 1.0 / 500, 1e-8);  // a few roundings of 1/500
    EXPECT_TRUE(std::isnan(losses[1]));
    EXPECT_FALSE(correct[1]);
    EXPECT_TRUE(std::isnan(d_logits.get(1, 0)));
    EXPECT_TRUE(std::isnan(losses[2]));
    EXPECT_EQ(losses[3], 0.0f);
    EXPECT_TRUE(correct[3]);
    EXPECT_EQ(losses[4], 0.0f);  // ignored
    EXPECT_EQ(d_logits.get(4, 2999), 0.0f);
  });
}

TEST(CrossEntropy, OnlyTheFirstLargestIsCorrect) {
  TestMatrix logits(DType::bf16, 2, 70);
  for (int64_t c = 0; c < 70; ++c) {
    for (int64_t r = 0; r < 2; ++r) logits.set(r, c, c == 40 || c == 69 ? 2.0f : -1.0f);
  }
  const int32_t targets[] = {40, 69};
  float losses[2];
  uint8_t correct[2];
  for_each_target([&] {
    cross_entropy_forward({logits.view(), targets}, losses, correct);
    EXPECT_EQ(correct[0], 1);
    EXPECT_EQ(correct[1], 0);
  });
}

TEST(CrossEntropy, ThreadsDoNotChangeBits) {
  const TestMatrix logits = TestMatrix::random(DType::f32, 400, 130, 0, 15);
  const std::vector<int32_t> targets = random_targets(400, 130, true);
  std::vector<TestMatrix> gradients;
  std::vector<std::vector<float>> losses;
  for (const int threads : {1, 2}) {
    TestMatrix& d_logits = gradients.emplace_back(DType::bf16, 400, 130);
    std::vector<float>& row_losses = losses.emplace_back(400);
    with_threads(threads, [&] {
      cross_entropy_backward({logits.view(), targets.data(), -100, 0.1f}, 1.0f, d_logits.view(), row_losses.data());
    });
  }
  EXPECT_EQ(gradients[0].bytes(), gradients[1].bytes());
  EXPECT_EQ(losses[0], losses[1]);
}

TEST(CrossEntropy, SaysWhatDoesNotFit) {
  TestMatrix logits = TestMatrix::random(DType::f32, 2, 5, 0, 16), narrow(DType::f32, 2, 4), bf16(DType::bf16, 2, 5);
  const int32_t good[] = {0, 4}, bad[] = {0, 5};
  float losses[2];
  EXPECT_THAT(message_of([&] {
                cross_entropy_forward({logits.view(), bad}, losses);
              }),
              testing::HasSubstr("cross_entropy: target 5 of row 1 is not in [0, 5) and not the ignored id -100"));
  EXPECT_THAT(message_of([&] {
                cross_entropy_backward({logits.view(), good}, 1.0f, narrow.view(), losses);
              }),
              testing::HasSubstr("d_logits must be (2, 5), got (2, 4)"));
  EXPECT_THAT(message_of([&] {
                cross_entropy_forward({logits.view(), good, -100, 1.5f}, losses);
              }),
              testing::HasSubstr("expected label_smoothing in [0, 1], got 1.5"));
  MutableMatrix aliased = logits.view();
  aliased.dtype = DType::bf16;
  EXPECT_THAT(message_of([&] {
                cross_entropy_backward({logits.view(), good}, 1.0f, aliased, losses);
              }),
              testing::HasSubstr("in place of logits must have their dtype f32"));
}

}  // namespace
}  // namespace weft::kernels
