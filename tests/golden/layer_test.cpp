#include <gtest/gtest.h>

#include "tests/golden/golden.h"
#include "tests/golden/settings.h"
#include "weft/nn/attention.h"
#include "weft/nn/feed_forward.h"
#include "weft/nn/positions.h"
#include "weft/nn/transformer_block.h"

namespace weft::golden {
namespace {

nn::TransformerBlockConfig block_config_of(const Golden& golden) {
  return model_config_of(golden).stack_config().block;
}

nn::AttentionCall call_of(const Golden& golden, const Variable& x, int64_t keys) {
  nn::AttentionCall call;
  call.mask = mask_of(golden, x.dim(0), x.dim(1), keys);
  if (golden.contains("inputs.position_ids")) call.position_ids = golden.tensor("inputs.position_ids");
  return call;
}

TEST(PositionsGolden, SinusoidsMatchPyTorch) {
  const Golden golden("positions/sinusoidal");
  const Tensor table = nn::sinusoidal_positions(golden.get<int64_t>("length"), golden.get<int64_t>("d_model"));
  expect_close("table", table, golden.tensor("outputs.table"), kForwardTolerance);
}

class AttentionLayerGolden : public testing::TestWithParam<std::string> {
 protected:
  void compare(Precision precision) {
    const Golden golden(GetParam());
    ParameterStore store(golden.source());
    nn::AttentionConfig config = block_config_of(golden).attention;
    if (golden.get<bool>("cross")) config.kind = nn::AttentionKind::cross;
    const nn::Attention attention(store.root(), config);
    store.finish();
    GoldenRun run(golden, precision);
    const Variable x = run.input("x");
    const Variable memory = golden.get<bool>("cross") ? run.input("memory") : Variable();
    const nn::AttentionCall call = call_of(golden, x, memory.defined() ? memory.dim(1) : x.dim(1));
    run.output("y", attention.forward(run.context, x, memory, call).output);
    run.compare_gradients(store);
  }
};
TEST_P(AttentionLayerGolden, MatchesPyTorch) { compare(Precision::f32); }
TEST_P(AttentionLayerGolden, Bf16StaysCloseToPyTorch) { compare(Precision::bf16); }

TEST_P(AttentionLayerGolden, WeightsMatchPyTorch) {
  const Golden golden(GetParam());
  ParameterStore store(golden.source());
  nn::AttentionConfig config = block_config_of(golden).attention;
  if (golden.get<bool>("cross")) config.kind = nn::AttentionKind::cross;
  const nn::Attention attention(store.root(), config);
  GoldenRun run(golden);
  const Variable x = run.input("x");
  const Variable memory = golden.get<bool>("cross") ? run.input("memory") : Variable();
  nn::AttentionCall call = call_of(golden, x, memory.defined() ? memory.dim(1) : x.dim(1));
  call.need_weights = true;
  const nn::AttentionResult result = attention.forward(run.context, x, memory, call);
  expect_close("weights", result.weights, golden.tensor("outputs.weights"), kForwardTolerance,
               counted_rows(golden, config.heads));
  // The explicit path that gives the weights must have the gradients of the fused one.
  run.output("y", result.output);
  run.compare_gradients(store);
}
INSTANTIATE_TEST_SUITE_P(Cases, AttentionLayerGolden, testing::ValuesIn(cases_of("attention_layer")), case_name);

class FeedForwardGolden : public testing::TestWithParam<std::string> {};
TEST_P(FeedForwardGolden, MatchesPyTorch) {
  const Golden golden(GetParam());
  ParameterStore store(golden.source());
  const nn::FeedForward feed_forward(store.root(), block_config_of(golden).feed_forward);
  store.finish();
  GoldenRun run(golden);
  run.output("y", feed_forward.forward(run.context, run.input("x")));
  run.compare_gradients(store);
}
INSTANTIATE_TEST_SUITE_P(Cases, FeedForwardGolden, testing::ValuesIn(cases_of("feed_forward")), case_name);

class BlockGolden : public testing::TestWithParam<std::string> {};
TEST_P(BlockGolden, MatchesPyTorch) {
  const Golden golden(GetParam());
  ParameterStore store(golden.source());
  const nn::TransformerBlock block(store.root(), block_config_of(golden));
  store.finish();
  GoldenRun run(golden);
  const Variable x = run.input("x");
  run.output("y", block.forward(run.context, x, call_of(golden, x, x.dim(1))));
  run.compare_gradients(store);
}
INSTANTIATE_TEST_SUITE_P(Cases, BlockGolden, testing::ValuesIn(cases_of("block")), case_name);

}  // namespace
}  // namespace weft::golden
