#include "weft/autograd/tape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "weft/autograd/context.h"
#include "weft/base/error.h"
#include "weft/kernels/elementwise.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// y = factor · x, whose gradient is factor · dy; the simplest operation there is.
Variable times(Context& ctx, const Variable& x, float factor) {
  Tensor y = x.value().clone();
  kernels::scale(matrix_view(y), factor);
  return record(ctx, "times", {&x}, std::move(y), [edge = x.edge(), factor](BackwardPass& pass, const Tensor& dy) {
    Tensor dx = dy.clone();
    kernels::scale(matrix_view(dx), factor);
    pass.add(edge, dx);
  });
}

Variable sum(Context& ctx, const Variable& a, const Variable& b) {
  Tensor y = a.value().clone();
  kernels::accumulate(matrix_view(b.value()), matrix_view(y));
  return record(ctx, "sum", {&a, &b}, std::move(y), [a = a.edge(), b = b.edge()](BackwardPass& pass, const Tensor& dy) {
    pass.add(a, dy);
    pass.add(b, dy);
  });
}

class TapeTest : public ::testing::Test {
 protected:
  TapeTest() : store_(initialise(1)) {
    parameter_ = &store_.add("p", {1}, Initialiser::ones(), false);
    other_ = &store_.add("q", {1}, Initialiser::ones(), false);
    ctx_.tape = &tape_;
  }

  float gradient_of(const Gradients& gradients, const Parameter& parameter) {
    const Tensor* gradient = gradients.find(parameter);
    return gradient == nullptr ? std::numeric_limits<float>::quiet_NaN() : gradient->item();
  }

  ParameterStore store_;
  Parameter* parameter_;
  Parameter* other_;
  Tape tape_;
  Context ctx_;
};

TEST_F(TapeTest, AddsUpEveryPathToAParameter) {
  const Variable x = times(ctx_, *parameter_, 2.0f);
  const Variable loss = sum(ctx_, sum(ctx_, x, times(ctx_, x, 5.0f)), *parameter_);
  const Gradients gradients = tape_.backward(loss);
  EXPECT_EQ(gradient_of(gradients, *parameter_), 2.0f + 10.0f + 1.0f);
  EXPECT_EQ(gradients.find(*other_), nullptr);
  EXPECT_EQ(tape_.size(), 0u);
}

TEST_F(TapeTest, AGradientSharedByTwoInputsIsNotChangedTwice) {
  // sum() hands the same tensor to both inputs; adding more to one must leave the other alone.
  const Variable a = times(ctx_, *parameter_, 1.0f);
  const Variable b = times(ctx_, *other_, 1.0f);
  const Variable early = times(ctx_, a, 3.0f);
  const Variable loss = sum(ctx_, sum(ctx_, a, b), early);
  const Gradients gradients = tape_.backward(loss);
  EXPECT_EQ(gradient_of(gradients, *parameter_), 4.0f);
  EXPECT_EQ(gradient_of(gradients, *other_), 1.0f);
}

TEST_F(TapeTest, AccumulatesUntilCleared) {
  Gradients gradients;
  for (int i = 0; i < 2; ++i) tape_.backward(times(ctx_, *parameter_, 3.0f), gradients, 0.5f);
  EXPECT_EQ(gradient_of(gradients, *parameter_), 3.0f);
  gradients.clear();
  EXPECT_EQ(gradients.find(*parameter_), nullptr);
  tape_.backward(times(ctx_, *parameter_, 3.0f), gradients);
  EXPECT_EQ(gradient_of(gradients, *parameter_), 3.0f);
  EXPECT_DOUBLE_EQ(gradients.global_norm(), 3.0);
}

TEST_F(TapeTest, ReportsEachParameterOnceItIsFinal) {
  const Variable first = times(ctx_, *parameter_, 2.0f);
  const Variable loss = sum(ctx_, sum(ctx_, times(ctx_, *other_, 3.0f), first), *parameter_);
  Gradients gradients;
  std::vector<std::string> order;
  tape_.backward(loss, gradients, 1.0f, [&](const Parameter& parameter) {
    order.push_back(parameter.name() + "=" + std::to_string(static_cast<int>(gradients.find(parameter)->item())));
  });
  EXPECT_THAT(order, ElementsAre("q=3", "p=3"));
}

TEST_F(TapeTest, FrozenParametersAndConstantsRecordNothing) {
  parameter_->set_trains(false);
  const Variable loss = times(ctx_, *parameter_, 2.0f);
  EXPECT_EQ(tape_.size(), 0u);
  EXPECT_THAT([&] { tape_.backward(loss); }, ThrowsMessage<Error>(HasSubstr("depends on nothing that trains")));
}

TEST_F(TapeTest, WithoutATapeNothingIsKept) {
  Context inference;
  EXPECT_FALSE(times(inference, *parameter_, 2.0f).edge().wanted());
}

TEST_F(TapeTest, AnOperationWithoutGradientThrowsWhenItWouldBeRecorded) {
  const Variable x = times(ctx_, *parameter_, 1.0f);
  EXPECT_THAT([&] { record_without_gradient(ctx_, "argmax", {&x}, Tensor::scalar(0.0f)); },
              ThrowsMessage<Error>(HasSubstr("argmax: has no gradient")));
  const Variable detached = x.detach();
  EXPECT_NO_THROW(record_without_gradient(ctx_, "argmax", {&detached}, Tensor::scalar(0.0f)));
}

TEST_F(TapeTest, CheckFiniteNamesTheOperation) {
  ctx_.check_finite = true;
  EXPECT_THAT([&] { times(ctx_, *parameter_, std::numeric_limits<float>::infinity()); },
              ThrowsMessage<Error>(HasSubstr("times: its output (1) holds a NaN or infinity, first at element 0")));
}

TEST_F(TapeTest, FindsTheParameterWithABadGradient) {
  Gradients gradients;
  tape_.backward(
      sum(ctx_, times(ctx_, *parameter_, 1.0f), times(ctx_, *other_, std::numeric_limits<float>::infinity())),
      gradients);
  EXPECT_EQ(gradients.first_non_finite(store_), other_);
}

TEST_F(TapeTest, LossMustBeASingleNumberFromThisTape) {
  const Variable two(Tensor::zeros({2}));
  EXPECT_THAT([&] { tape_.backward(two); }, ThrowsMessage<Error>(HasSubstr("a single number, not (2)")));
  Tape elsewhere;
  Context other{.tape = &elsewhere};
  const Variable x = times(other, *parameter_, 1.0f);
  EXPECT_THAT([&] { times(ctx_, x, 1.0f); }, ThrowsMessage<Error>(HasSubstr("recorded on another tape")));
}

}  // namespace
}  // namespace weft
