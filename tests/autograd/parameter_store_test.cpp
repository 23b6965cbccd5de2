#include "weft/autograd/parameter_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/autograd/context.h"
#include "weft/base/error.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ParameterStore, ScopesNameParametersByPath) {
  ParameterStore store(initialise(1));
  const Scope block = store.root() / "blocks" / 3;
  Parameter& weight = block.parameter("weight", {2, 3}, Initialiser::normal(1.0));
  Parameter& bias = (block / "norm").parameter("bias", {2}, Initialiser::zeros());
  EXPECT_EQ(weight.name(), "blocks.3.weight");
  EXPECT_EQ(bias.name(), "blocks.3.norm.bias");
  EXPECT_TRUE(weight.decays());
  EXPECT_FALSE(bias.decays());
  EXPECT_EQ(store.numel(), 8);
  EXPECT_EQ(store.find("blocks.3.weight"), &weight);
  EXPECT_EQ(store.find("blocks.4.weight"), nullptr);
}

TEST(ParameterStore, TiesAreTwoNamesForOneParameter) {
  ParameterStore store(initialise(1));
  Parameter& embedding = store.root().parameter("embedding", {4, 2}, Initialiser::normal(1.0));
  store.root().tie("output", embedding);
  EXPECT_EQ(store.find("output"), &embedding);
  EXPECT_EQ(store.size(), 1);
  EXPECT_THAT([&] { store.root().parameter("output", {1}, Initialiser::zeros()); },
              ThrowsMessage<Error>(HasSubstr("the name output is taken")));
}

TEST(ParameterStore, ValuesDependOnSeedAndNameNotOnOrder) {
  ParameterStore first(initialise(1)), second(initialise(1)), third(initialise(2));
  const float a = first.root().parameter("a", {1}, Initialiser::normal(1.0)).value().item();
  second.root().parameter("b", {1}, Initialiser::normal(1.0));
  EXPECT_EQ(second.root().parameter("a", {1}, Initialiser::normal(1.0)).value().item(), a);
  EXPECT_NE(third.root().parameter("a", {1}, Initialiser::normal(1.0)).value().item(), a);
}

TEST(Initialiser, HasTheStatedMoments) {
  Tensor values = Tensor::empty({200, 500});
  const auto moments = [&] {
    double mean = 0.0, square = 0.0, largest = 0.0;
    for (const float x : values.span<float>()) {
      mean += x;
      square += double{x} * x;
      largest = std::max(largest, std::abs(double{x}));
    }
    return std::array{mean / 1e5, square / 1e5, largest};
  };
  Initialiser::xavier_uniform(200, 100).fill(values, Rng{1, 2});
  // 100,000 draws: mean within 5 standard errors, variance within 2 %.
  EXPECT_NEAR(moments()[0], 0.0, 5 * std::sqrt(2.0 / 300 / 1e5));
  EXPECT_NEAR(moments()[1], 2.0 / 300, 0.02 * 2.0 / 300);
  EXPECT_LE(moments()[2], std::sqrt(6.0 / 300) * 1.000001);
  Initialiser::xavier_normal(200, 100).fill(values, Rng{1, 2});
  EXPECT_NEAR(moments()[1], 2.0 / 300, 0.02 * 2.0 / 300);
  EXPECT_GT(moments()[2], std::sqrt(6.0 / 300));
}

TEST(Parameter, PackedCopiesFollowTheValues) {
  ParameterStore store(initialise(1));
  Parameter& weight = store.root().parameter("weight", {2, 3}, Initialiser::ones());
  const Tensor x = Tensor::full({1, 3}, 1.0f);
  Tensor y = Tensor::empty({1, 2});
  const auto product = [&] {
    kernels::matmul(matrix_view(x), weight.packed(WeightUse::forward, DType::f32), matrix_view(y));
    return y.data<float>()[0];
  };
  EXPECT_EQ(product(), 3.0f);
  weight.mutable_value().data<float>()[0] = 5.0f;
  EXPECT_EQ(product(), 7.0f);
  EXPECT_EQ(weight.packed(WeightUse::backward, DType::bf16).k(), 2);
}

TEST(Precision, IsParsedByName) {
  EXPECT_EQ(parse_precision("bf16"), Precision::bf16);
  EXPECT_THAT([] { parse_precision("fp8"); },
              ThrowsMessage<UsageError>(HasSubstr("expected f32 or bf16, got \"fp8\"")));
}

}  // namespace
}  // namespace weft
