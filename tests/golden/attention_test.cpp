#include <gtest/gtest.h>

#include "tests/golden/golden.h"
#include "tests/golden/settings.h"
#include "weft/ops/attention.h"

namespace weft::golden {
namespace {

ops::AttentionOptions options_of(const Golden& golden) {
  return {.heads = golden.get<int64_t>("heads"),
          .kv_heads = golden.get<int64_t>("kv_heads"),
          .head_dim = golden.get<int64_t>("head_dim")};
}

// The long cases are kept without their q × k weights.
std::vector<std::string> cases_with_weights() {
  std::vector<std::string> cases = cases_of("attention");
  std::erase_if(cases, [](const std::string& name) { return !Golden(name).contains("outputs.weights"); });
  return cases;
}

class AttentionGolden : public testing::TestWithParam<std::string> {};

TEST_P(AttentionGolden, MatchesPyTorch) {
  const Golden golden(GetParam());
  ParameterStore store(golden.source());
  GoldenRun run(golden);
  const Variable q = run.input("q");
  const Variable k = run.input("k");
  const Variable v = run.input("v");
  const Mask mask = mask_of(golden, q.dim(0), q.dim(1), k.dim(1));
  run.output("y", ops::attention(run.context, {q}, {k}, {v}, mask, options_of(golden)).output);
  run.compare_gradients(store);
}

INSTANTIATE_TEST_SUITE_P(Cases, AttentionGolden, testing::ValuesIn(cases_of("attention")), case_name);

class AttentionWeightsGolden : public testing::TestWithParam<std::string> {};
TEST_P(AttentionWeightsGolden, MatchPyTorch) {
  const Golden golden(GetParam());
  Context ctx;
  const Tensor q = golden.tensor("inputs.q");
  const Tensor k = golden.tensor("inputs.k");
  const Mask mask = mask_of(golden, q.dim(0), q.dim(1), k.dim(1));
  ops::AttentionOptions options = options_of(golden);
  options.need_weights = true;
  const auto result =
      ops::attention(ctx, {Variable(q)}, {Variable(k)}, {Variable(golden.tensor("inputs.v"))}, mask, options);
  expect_close("output", result.output.value(), golden.tensor("outputs.y"), kForwardTolerance, counted_rows(golden, 1));
  expect_close("weights", result.weights, golden.tensor("outputs.weights"), kForwardTolerance,
               counted_rows(golden, options.heads));
}
INSTANTIATE_TEST_SUITE_P(Cases, AttentionWeightsGolden, testing::ValuesIn(cases_with_weights()), case_name);

}  // namespace
}  // namespace weft::golden
