#include <gtest/gtest.h>

#include "tests/golden/golden.h"
#include "tests/golden/settings.h"
#include "weft/ops/activation.h"
#include "weft/ops/cross_entropy.h"
#include "weft/ops/embedding.h"
#include "weft/ops/linear.h"
#include "weft/ops/norm.h"
#include "weft/ops/rotary.h"

namespace weft::golden {
namespace {

// The parameter `name` of the golden, or undefined if the case has none.
Variable parameter_or_none(const Golden& golden, ParameterStore& store, const std::string& name) {
  const std::string key = "parameters." + name;
  if (!golden.contains(key)) return {};
  return store.root().parameter(name, golden.tensor(key).shape(), Initialiser::zeros());
}

class LinearGolden : public testing::TestWithParam<std::string> {};
TEST_P(LinearGolden, MatchesPyTorch) {
  const Golden golden(GetParam());
  ParameterStore store(golden.source());
  GoldenRun run(golden);
  const Variable weight = parameter_or_none(golden, store, "weight");
  const Variable bias = parameter_or_none(golden, store, "bias");
  run.output("y", ops::linear(run.context, run.input("x"), weight, bias, activation_of(golden)));
  run.compare_gradients(store);
}
INSTANTIATE_TEST_SUITE_P(Cases, LinearGolden, testing::ValuesIn(cases_of("linear")), case_name);

class ActivationGolden : public testing::TestWithParam<std::string> {};
TEST_P(ActivationGolden, MatchesPyTorch) {
  const Golden golden(GetParam());
  ParameterStore store(golden.source());
  GoldenRun run(golden);
  const Variable x = run.input("x");
  run.output("plain", ops::activation(run.context, x, activation_of(golden)));
  run.output("gated", ops::gated_activation(run.context, x, activation_of(golden)));
  run.compare_gradients(store);
}
INSTANTIATE_TEST_SUITE_P(Cases, ActivationGolden, testing::ValuesIn(cases_of("activation")), case_name);

class EmbeddingGolden : public testing::TestWithParam<std::string> {};
TEST_P(EmbeddingGolden, MatchesPyTorch) {
  const Golden golden(GetParam());
  ParameterStore store(golden.source());
  GoldenRun run(golden);
  const Variable table = parameter_or_none(golden, store, "token.weight");
  const Variable positions = parameter_or_none(golden, store, "position.weight");
  const Tensor position_ids = positions.defined() ? golden.tensor("inputs.position_ids") : Tensor();
  run.output("y", ops::embedding(run.context, table, golden.tensor("inputs.ids"), positions, position_ids,
                                 {.scale = golden.get<float>("scale")}));
  run.compare_gradients(store);
}
INSTANTIATE_TEST_SUITE_P(Cases, EmbeddingGolden, testing::ValuesIn(cases_of("embedding")), case_name);

class NormGolden : public testing::TestWithParam<std::string> {};
TEST_P(NormGolden, MatchesPyTorch) {
  const Golden golden(GetParam());
  ParameterStore store(golden.source());
  GoldenRun run(golden);
  const Variable gamma = parameter_or_none(golden, store, "weight");
  const Variable beta = parameter_or_none(golden, store, "bias");
  const ops::NormOptions options{.kind = norm_of(golden), .epsilon = golden.get<float>("norm_epsilon")};
  const Variable x = run.input("x");
  if (golden.contains("inputs.residual")) {
    const auto result = ops::add_norm(run.context, x, run.input("residual"), gamma, beta, options);
    run.output("sum", result.sum);
    run.output("normalised", result.normalised);
  } else {
    run.output("normalised", ops::norm(run.context, x, gamma, beta, options));
  }
  run.compare_gradients(store);
}
INSTANTIATE_TEST_SUITE_P(Cases, NormGolden, testing::ValuesIn(cases_of("norm")), case_name);

class RotaryGolden : public testing::TestWithParam<std::string> {};
TEST_P(RotaryGolden, MatchesPyTorch) {
  const Golden golden(GetParam());
  ParameterStore store(golden.source());
  GoldenRun run(golden);
  run.output("y", ops::rotary(run.context, run.input("x"), rotary_of(golden), golden.get<int64_t>("heads"),
                              golden.get<int64_t>("head_dim"), golden.tensor("inputs.position_ids")));
  run.compare_gradients(store);
}
INSTANTIATE_TEST_SUITE_P(Cases, RotaryGolden, testing::ValuesIn(cases_of("rotary")), case_name);

class CrossEntropyGolden : public testing::TestWithParam<std::string> {
 protected:
  static ops::CrossEntropyOptions options_of(const Golden& golden) {
    return {.ignore_id = golden.get<int32_t>("ignore_id"), .label_smoothing = golden.get<float>("label_smoothing")};
  }
};

TEST_P(CrossEntropyGolden, OfLogitsMatchesPyTorch) {
  const Golden golden(GetParam());
  Tape tape;
  Context ctx;
  ctx.tape = &tape;
  const Variable logits = tape.watch(golden.tensor("outputs.logits"));
  const Variable loss = ops::cross_entropy(ctx, logits, golden.tensor("inputs.targets"), options_of(golden));
  expect_close("loss", loss.value(), golden.tensor("outputs.loss"), kForwardTolerance);
  tape.backward(loss);
  expect_close("gradient of logits", tape.gradient(logits), golden.tensor("outputs.logits_gradient"),
               kGradientTolerance);
}

TEST_P(CrossEntropyGolden, FusedWithTheProjectionMatchesPyTorch) {
  const Golden golden(GetParam());
  ParameterStore store(golden.source());
  Tape tape;
  Context ctx;
  ctx.tape = &tape;
  const Variable x = tape.watch(golden.tensor("inputs.x"));
  const Variable weight = parameter_or_none(golden, store, "weight");
  const Variable bias = parameter_or_none(golden, store, "bias");
  const Variable loss =
      ops::linear_cross_entropy(ctx, x, weight, bias, golden.tensor("inputs.targets"), options_of(golden));
  expect_close("loss", loss.value(), golden.tensor("outputs.loss"), kForwardTolerance);
  const Gradients gradients = tape.backward(loss);
  expect_close("gradient of x", tape.gradient(x), golden.tensor("input_gradients.x"), kGradientTolerance);
  expect_parameter_gradients(golden, gradients, store, kGradientTolerance);
}
INSTANTIATE_TEST_SUITE_P(Cases, CrossEntropyGolden, testing::ValuesIn(cases_of("cross_entropy")), case_name);

}  // namespace
}  // namespace weft::golden
