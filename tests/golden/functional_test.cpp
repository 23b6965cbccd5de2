#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/golden/golden.h"
#include "weft/ops/multi_head_attention.h"
#include "weft/ops/scaled_dot_product_attention.h"

namespace weft::golden {
namespace {

Tensor mask_or_none(const Golden& golden, const std::string& name) {
  const std::string key = "inputs." + name;
  return golden.contains(key) ? golden.tensor(key) : Tensor();
}

ops::ScaledDotProductOptions options_of(const Golden& golden) {
  ops::ScaledDotProductOptions options{.attn_mask = mask_or_none(golden, "attn_mask"),
                                       .is_causal = golden.get<bool>("is_causal"),
                                       .enable_gqa = golden.get<bool>("enable_gqa")};
  if (!golden.config().at("scale").is_null()) options.scale = golden.get<float>("scale");
  return options;
}

class ScaledDotProductGolden : public testing::TestWithParam<std::string> {
 protected:
  // The same call without weights and with them: the gradients of both are compared.
  static void run(bool need_weights) {
    const Golden golden(GetParam());
    ParameterStore store(golden.source());
    GoldenRun run(golden);
    const Variable q = run.input("q");
    const bool one_source = golden.get<bool>("one_source");
    const Variable k = one_source ? q : run.input("k");
    const Variable v = one_source ? q : run.input("v");
    ops::ScaledDotProductOptions options = options_of(golden);
    options.need_weights = need_weights;
    const auto result = ops::scaled_dot_product_attention(run.context, q, k, v, options);
    EXPECT_EQ(result.output.shape(), golden.tensor("outputs.y").shape());
    run.output("y", result.output);
    run.compare_gradients(store);
    EXPECT_EQ(result.weights.defined(), need_weights);
    if (!need_weights || !golden.contains("outputs.weights")) return;
    EXPECT_EQ(result.weights.shape(), golden.tensor("outputs.weights").shape());
    expect_close("weights", result.weights, golden.tensor("outputs.weights"), kForwardTolerance);
  }
};

TEST_P(ScaledDotProductGolden, MatchesPyTorch) { run(false); }
TEST_P(ScaledDotProductGolden, WithWeightsMatchesPyTorch) { run(true); }
INSTANTIATE_TEST_SUITE_P(Cases, ScaledDotProductGolden, testing::ValuesIn(cases_of("scaled_dot_product")), case_name);

class MultiHeadGolden : public testing::TestWithParam<std::string> {
 protected:
  static ops::MultiHeadWeights weights_of(const Golden& golden, ParameterStore& store) {
    const auto parameter = [&](const std::string& name) -> Variable {
      const std::string key = "parameters." + name;
      if (!golden.contains(key)) return {};
      return store.root().parameter(name, golden.tensor(key).shape(), Initialiser::zeros());
    };
    ops::MultiHeadWeights weights{.in_proj_weight = parameter("in_proj_weight"),
                                  .q_proj_weight = parameter("q_proj_weight"),
                                  .k_proj_weight = parameter("k_proj_weight"),
                                  .v_proj_weight = parameter("v_proj_weight"),
                                  .in_proj_bias = parameter("in_proj_bias"),
                                  .bias_k = parameter("bias_k"),
                                  .bias_v = parameter("bias_v"),
                                  .out_proj_weight = parameter("out_proj_weight"),
                                  .out_proj_bias = parameter("out_proj_bias")};
    store.finish();
    return weights;
  }

  static void run(ops::MultiHeadOptions options) {
    const Golden golden(GetParam());
    ParameterStore store(golden.source());
    GoldenRun run(golden);
    const ops::MultiHeadWeights weights = weights_of(golden, store);
    std::map<char, Variable> given;
    std::vector<Variable> roles;
    for (const char letter : golden.get<std::string>("inputs")) {
      if (!given.contains(letter)) given[letter] = run.input(std::string(1, letter));
      roles.push_back(given[letter]);
    }
    options.num_heads = golden.get<int64_t>("num_heads");
    options.key_padding_mask = mask_or_none(golden, "key_padding_mask");
    options.attn_mask = mask_or_none(golden, "attn_mask");
    options.add_zero_attn = golden.get<bool>("add_zero_attn");
    options.is_causal = golden.get<bool>("is_causal");
    const auto result = ops::multi_head_attention(run.context, roles[0], roles[1], roles[2], weights, options);
    EXPECT_EQ(result.output.shape(), golden.tensor("outputs.y").shape());
    run.output("y", result.output);
    run.compare_gradients(store);
    EXPECT_EQ(result.weights.defined(), options.need_weights);
    if (!options.need_weights) return;
    const Tensor expected = golden.tensor(options.average_attn_weights ? "outputs.mean_weights" : "outputs.weights");
    EXPECT_EQ(result.weights.shape(), expected.shape());
    expect_close("weights", result.weights, expected, kForwardTolerance);
  }
};

TEST_P(MultiHeadGolden, MatchesPyTorch) { run({}); }
TEST_P(MultiHeadGolden, WithWeightsPerHeadMatchesPyTorch) {
  run({.need_weights = true, .average_attn_weights = false});
}
TEST_P(MultiHeadGolden, WithAverageWeightsMatchesPyTorch) { run({.need_weights = true}); }
INSTANTIATE_TEST_SUITE_P(Cases, MultiHeadGolden, testing::ValuesIn(cases_of("multi_head")), case_name);

}  // namespace
}  // namespace weft::golden
