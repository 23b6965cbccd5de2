#include "weft/models/encoder_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/models/tensors.h"
#include "weft/base/error.h"

namespace weft::models {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TransformerConfig tiny(nn::Wiring wiring, nn::Wiring decoder_wiring) {
  TransformerConfig config;
  config.architecture = Architecture::encoder_decoder;
  config.vocab_size = 11;
  config.source_vocab_size = 13;
  config.max_length = 16;
  config.d_model = 24;
  config.layers = 2;
  config.decoder_layers = 3;
  config.heads = 4;
  config.wiring = wiring;
  config.decoder_wiring = decoder_wiring;
  config.tie_embeddings = false;
  return config;
}

struct Setting {
  std::string name;
  TransformerConfig config;
};

std::vector<Setting> settings() {
  TransformerConfig shared = tiny(nn::Wiring::post_norm, nn::Wiring::post_norm);
  shared.source_vocab_size = 0;
  shared.share_embeddings = shared.tie_embeddings = shared.scale_embeddings = true;
  TransformerConfig rotary = tiny(nn::Wiring::pre_norm, nn::Wiring::pre_norm);
  rotary.positions = nn::Positions::rotary;
  rotary.kv_heads = 2;
  TransformerConfig linear = tiny(nn::Wiring::pre_norm, nn::Wiring::pre_norm);
  linear.attention_weights = nn::AttentionWeights::linear;
  linear.kv_heads = 2;
  return {{"pre_norm", tiny(nn::Wiring::pre_norm, nn::Wiring::pre_norm)},
          {"notes", tiny(nn::Wiring::block_input, nn::Wiring::post_norm)},
          {"block_input", tiny(nn::Wiring::block_input, nn::Wiring::block_input)},
          {"b2t", tiny(nn::Wiring::b2t, nn::Wiring::b2t)},
          {"shared", shared},
          {"rotary", rotary},
          {"linear", linear}};
}

class EncoderDecoderTest : public ::testing::TestWithParam<Setting> {
 protected:
  EncoderDecoderTest() : store_(initialise(3)), model_(store_.root(), GetParam().config) { store_.finish(); }

  static TokenInput packed(const Tensor& ids, std::initializer_list<int64_t> offsets, bool causal) {
    return {.ids = ids, .mask = Mask::packed(std::vector<int64_t>(offsets), causal)};
  }

  // Two sequences: sources of 3 and 5 tokens, targets of 4 and 2.
  TokenInput source_ = packed(ids_of({1, 2, 3, 4, 5, 6, 7, 8}), {0, 3, 8}, false);
  TokenInput target_ = packed(ids_of({1, 5, 6, 7, 1, 9}), {0, 4, 6}, true);
  Tensor targets_ = ids_of({5, 6, 7, 2, 9, 2});
  // The same, padded to 5 and 4.
  TokenInput padded_source_{.ids = ids_of({1, 2, 3, 0, 0, 4, 5, 6, 7, 8}),
                            .mask = Mask::padded(std::array<int64_t, 2>{3, 5}, 5, false)};
  TokenInput padded_target_{.ids = ids_of({1, 5, 6, 7, 1, 9, 0, 0}),
                            .mask = Mask::padded(std::array<int64_t, 2>{4, 2}, 4, true)};
  Tensor padded_targets_ = ids_of({5, 6, 7, 2, 9, 2, -100, -100});

  float loss_and_gradients(const TokenInput& source, const TokenInput& target, const Tensor& targets,
                           Gradients& gradients) {
    Tape tape;
    Context ctx{.tape = &tape};
    const Variable loss = model_.loss(ctx, source, target, targets);
    gradients = tape.backward(loss);
    return loss.value().item();
  }

  ParameterStore store_;
  EncoderDecoder model_;
};

TEST_P(EncoderDecoderTest, PackedAndPaddedGiveTheSameLossAndGradients) {
  Gradients packed_gradients, padded_gradients;
  const float packed_loss = loss_and_gradients(source_, target_, targets_, packed_gradients);
  const float padded_loss = loss_and_gradients(padded_source_, padded_target_, padded_targets_, padded_gradients);
  EXPECT_NEAR(packed_loss, padded_loss, kSame);
  for (const Parameter& parameter : store_) {
    ASSERT_NE(packed_gradients.find(parameter), nullptr) << parameter.name();
    // Gradients here are of order 1 or less.
    EXPECT_LE(largest_difference(*packed_gradients.find(parameter), *padded_gradients.find(parameter)), kSame)
        << parameter.name();
  }
}

TEST_P(EncoderDecoderTest, CachedDecodingEqualsTheFullPass) {
  Context ctx;
  const Tensor full = model_.logits(ctx, target_, model_.encode(ctx, source_)).value();
  for (const bool projected : {false, true}) {
    EncodedSource encoded = model_.encode(ctx, source_);
    if (projected) model_.project_memory(ctx, encoded);
    nn::KvCache cache = model_.make_cache(2, 8, Precision::f32);
    // Three tokens of the first and one of the second target, then one of each.
    const Tensor begun =
        model_.logits(ctx, packed(ids_of({1, 5, 6, 1}), {0, 3, 4}, true), encoded, {}, &cache, true).value();
    EXPECT_LE(largest_difference(begun.slice(0, 0, 1), full.slice(0, 2, 3)), kSame);
    EXPECT_LE(largest_difference(begun.slice(0, 1, 2), full.slice(0, 4, 5)), kSame);
    const Tensor next = model_.logits(ctx, packed(ids_of({7, 9}), {0, 1, 2}, true), encoded, {}, &cache).value();
    EXPECT_LE(largest_difference(next.slice(0, 0, 1), full.slice(0, 3, 4)), kSame);
    EXPECT_LE(largest_difference(next.slice(0, 1, 2), full.slice(0, 5, 6)), kSame);
  }
}

TEST_P(EncoderDecoderTest, TargetsMayShareASource) {
  Context ctx;
  const EncodedSource encoded = model_.encode(ctx, source_);
  const Tensor swapped = model_.logits(ctx, target_, encoded, std::array<int64_t, 2>{1, 1}).value();
  const TokenInput only = packed(ids_of({4, 5, 6, 7, 8}), {0, 5}, false);
  const TokenInput first = packed(ids_of({1, 5, 6, 7}), {0, 4}, true), second = packed(ids_of({1, 9}), {0, 2}, true);
  const EncodedSource alone = model_.encode(ctx, only);
  EXPECT_LE(largest_difference(swapped.slice(0, 0, 4), model_.logits(ctx, first, alone).value()), kSame);
  EXPECT_LE(largest_difference(swapped.slice(0, 4, 6), model_.logits(ctx, second, alone).value()), kSame);
}

TEST_P(EncoderDecoderTest, EveryTokenMattersOnlyWhereItMay) {
  Context ctx;
  const Tensor before = model_.logits(ctx, target_, model_.encode(ctx, source_)).value();
  TokenInput source = source_, target = target_;
  source.ids = ids_of({1, 2, 9, 4, 5, 6, 7, 8});  // of the first source
  const Tensor other_source = model_.logits(ctx, target_, model_.encode(ctx, source)).value();
  EXPECT_GT(largest_difference(before.slice(0, 0, 1), other_source.slice(0, 0, 1)), 1e-6f);
  EXPECT_EQ(largest_difference(before.slice(0, 4, 6), other_source.slice(0, 4, 6)), 0.0f);
  target.ids = ids_of({1, 5, 8, 7, 1, 9});  // the third of the first target
  const Tensor other_target = model_.logits(ctx, target, model_.encode(ctx, source_)).value();
  EXPECT_LE(largest_difference(before.slice(0, 0, 2), other_target.slice(0, 0, 2)), 0.0f);
  EXPECT_GT(largest_difference(before.slice(0, 3, 4), other_target.slice(0, 3, 4)), 1e-6f);
}

TEST_P(EncoderDecoderTest, ConfigReadsBackAsWritten) {
  const Json json = model_.config().to_json();
  EXPECT_EQ(TransformerConfig::from_json(JsonView(json, "config")).to_json(), json);
}

INSTANTIATE_TEST_SUITE_P(Settings, EncoderDecoderTest, ::testing::ValuesIn(settings()),
                         [](const auto& info) { return info.param.name; });

TEST(EncoderDecoder, RefusesWhatDoesNotFit) {
  TransformerConfig config = tiny(nn::Wiring::pre_norm, nn::Wiring::pre_norm);
  config.share_embeddings = true;
  EXPECT_THAT([&] { config.resolve(); },
              ThrowsMessage<Error>(HasSubstr("source and target need one vocabulary, got 13 and 11 entries")));
  ParameterStore store(initialise(1));
  EXPECT_THAT([&] { EncoderDecoder model(store.root(), TransformerConfig()); },
              ThrowsMessage<Error>(HasSubstr("encoder–decoder: the config describes the architecture causal_lm")));
  const EncoderDecoder model(store.root(), tiny(nn::Wiring::pre_norm, nn::Wiring::pre_norm));
  Context ctx;
  const EncodedSource encoded = model.encode(ctx, {.ids = ids_of({1, 2})});
  EXPECT_THAT([&] { model.logits(ctx, {.ids = ids_of({1})}, encoded, std::array<int64_t, 1>{3}); },
              ThrowsMessage<Error>(HasSubstr("target sequence 0 asks for source 3, there are 1")));
  EXPECT_THAT(
      [&] {
        model.logits(ctx, {.ids = ids_of({1})}, encoded, std::array<int64_t, 2>{0, 0});
      },
      ThrowsMessage<Error>(HasSubstr("1 target sequences but 2 source sequences")));
}

}  // namespace
}  // namespace weft::models
