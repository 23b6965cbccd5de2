#include <gtest/gtest.h>

#include "tests/golden/golden.h"
#include "tests/golden/settings.h"
#include "weft/models/bert.h"
#include "weft/models/encoder_decoder.h"
#include "weft/nn/transformer_block.h"

namespace weft::golden {
namespace {

class DecoderBlockGolden : public testing::TestWithParam<std::string> {};
TEST_P(DecoderBlockGolden, MatchesPyTorch) {
  const Golden golden(GetParam());
  ParameterStore store(golden.source());
  nn::TransformerBlockConfig config = model_config_of(golden).stack_config().block;
  config.cross_attention = config.attention;
  config.cross_attention->kind = nn::AttentionKind::cross;
  const nn::TransformerBlock block(store.root(), config);
  store.finish();
  GoldenRun run(golden);
  const Variable x = run.input("x"), memory = run.input("memory");
  const int64_t q = x.dim(1), k = memory.dim(1);
  nn::CrossAttentionCall cross{.memory = memory, .mask = {}, .projected = {}};
  for (const int64_t length : golden.integers("inputs.memory_lengths")) {
    const auto i = static_cast<int64_t>(cross.mask.segments.size());
    cross.mask.segments.push_back({.q_begin = i * q, .q_length = q, .k_begin = i * k, .k_length = length});
  }
  nn::AttentionCall call;
  call.mask = mask_of(golden, x.dim(0), q, q);
  run.output("y", block.forward(run.context, x, call, &cross));
  run.compare_gradients(store);
}
INSTANTIATE_TEST_SUITE_P(Cases, DecoderBlockGolden, testing::ValuesIn(cases_of("decoder_block")), case_name);

models::TokenInput padded_input(const Golden& golden, const std::string& ids, const std::string& lengths, bool causal) {
  models::TokenInput input{.ids = golden.tensor("inputs." + ids)};
  input.mask = Mask::padded(golden.integers("inputs." + lengths), input.ids.dim(1), causal);
  return input;
}

// A loss averages the roundings: 1 %.
constexpr double kBf16Loss = 1e-2;

class EncoderDecoderGolden : public testing::TestWithParam<std::string> {
 protected:
  void compare(Precision precision, double forward, double loss_tolerance, double gradient) {
    const Golden golden(GetParam());
    ParameterStore store(golden.source());
    const models::EncoderDecoder model(store.root(), model_config_of(golden));
    store.finish();
    const models::TokenInput source = padded_input(golden, "source", "source_lengths", false);
    const models::TokenInput target = padded_input(golden, "target", "target_lengths", true);
    Context inference{.precision = precision};
    const Variable logits = model.logits(inference, target, model.encode(inference, source));
    expect_close("logits", logits.value(), golden.tensor("outputs.logits"), forward, golden.tensor("inputs.counted"));
    Tape tape;
    Context ctx{.tape = &tape, .precision = precision};
    const Variable loss = model.loss(ctx, source, target, golden.tensor("inputs.targets"), {.label_smoothing = 0.1f});
    expect_close("loss", loss.value(), golden.tensor("outputs.loss"), loss_tolerance);
    expect_parameter_gradients(golden, tape.backward(loss), store, gradient);
  }
};
TEST_P(EncoderDecoderGolden, MatchesPyTorch) {
  compare(Precision::f32, kForwardTolerance, kForwardTolerance, kGradientTolerance);
}
TEST_P(EncoderDecoderGolden, Bf16StaysCloseToPyTorch) {
  compare(Precision::bf16, kBf16Tolerance, kBf16Loss, kBf16Tolerance);
}
INSTANTIATE_TEST_SUITE_P(Cases, EncoderDecoderGolden, testing::ValuesIn(cases_of("encoder_decoder")), case_name);

class BertGolden : public testing::TestWithParam<std::string> {
 protected:
  void compare(Precision precision, double forward, double loss_tolerance, double gradient) {
    const Golden golden(GetParam());
    ParameterStore store(golden.source());
    const models::Bert model(store.root(), model_config_of(golden));
    store.finish();
    models::TokenInput input = padded_input(golden, "ids", "lengths", false);
    if (model.config().segments > 0) input.segment_ids = golden.tensor("inputs.segments");
    Context inference{.precision = precision};
    const Variable hidden = model.hidden(inference, input);
    expect_close("token logits", model.masked_logits(inference, hidden).value(), golden.tensor("outputs.token_logits"),
                 forward, golden.tensor("inputs.counted"));
    expect_close("class logits", model.class_logits(inference, input, hidden).value(),
                 golden.tensor("outputs.class_logits"), forward);
    Tape tape;
    Context ctx{.tape = &tape, .precision = precision};
    const Variable loss = model.loss(
        ctx, input,
        {.tokens = golden.tensor("inputs.targets"), .classes = golden.tensor("inputs.classes"), .class_weight = 2.0f});
    expect_close("loss", loss.value(), golden.tensor("outputs.loss"), loss_tolerance);
    expect_parameter_gradients(golden, tape.backward(loss), store, gradient);
  }
};
TEST_P(BertGolden, MatchesPyTorch) {
  compare(Precision::f32, kForwardTolerance, kForwardTolerance, kGradientTolerance);
}
TEST_P(BertGolden, Bf16StaysCloseToPyTorch) { compare(Precision::bf16, kBf16Tolerance, kBf16Loss, kBf16Tolerance); }
INSTANTIATE_TEST_SUITE_P(Cases, BertGolden, testing::ValuesIn(cases_of("bert")), case_name);

}  // namespace
}  // namespace weft::golden
