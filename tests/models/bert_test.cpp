#include "weft/models/bert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/models/tensors.h"
#include "weft/base/error.h"
#include "weft/ops/cross_entropy.h"

namespace weft::models {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// As published: segments, norm of the embeddings, transform, pooler, tied output.
TransformerConfig published() {
  TransformerConfig config;
  config.architecture = Architecture::bert;
  config.vocab_size = 11;
  config.max_length = 16;
  config.d_model = 24;
  config.layers = 2;
  config.heads = 4;
  config.wiring = nn::Wiring::post_norm;
  config.final_norm = false;
  config.output_bias = true;
  config.segments = 2;
  config.embedding_norm = config.masked_transform = config.pooler = true;
  config.classes = 3;
  return config;
}

TransformerConfig notes_like() {
  TransformerConfig config = published();
  config.wiring = nn::Wiring::block_input;
  config.segments = 0;
  config.embedding_norm = config.masked_transform = config.pooler = false;
  config.tie_embeddings = false;
  config.positions = nn::Positions::sinusoidal;
  return config;
}

TokenInput packed(const Tensor& ids, std::initializer_list<int64_t> offsets) {
  return {.ids = ids, .mask = Mask::packed(std::vector<int64_t>(offsets), false)};
}

TEST(Bert, PackedAndPaddedGiveTheSameLossAndGradients) {
  for (const TransformerConfig& config : {published(), notes_like()}) {
    ParameterStore store(initialise(5));
    const Bert model(store.root(), config);
    store.finish();
    const auto run = [&](const TokenInput& input, const Tensor& targets, Gradients& gradients) {
      Tape tape;
      Context ctx{.tape = &tape};
      const Variable loss = model.loss(
          ctx, input, {.tokens = targets, .classes = ids_of({2, 0}), .token_weight = 0.5f, .class_weight = 2.0f});
      gradients = tape.backward(loss);
      return loss.value().item();
    };
    Gradients one, two;
    const float packed_loss =
        run(packed(ids_of({2, 4, 1, 2, 7, 8, 1, 9}), {0, 3, 8}), ids_of({-100, 4, 5, -100, 7, 8, 6, 9}), one);
    const float padded_loss = run(
        {.ids = ids_of({2, 4, 1, 0, 0, 2, 7, 8, 1, 9}), .mask = Mask::padded(std::array<int64_t, 2>{3, 5}, 5, false)},
        ids_of({-100, 4, 5, -100, -100, -100, 7, 8, 6, 9}), two);
    EXPECT_NEAR(packed_loss, padded_loss, kSame);
    for (const Parameter& parameter : store) {
      ASSERT_NE(one.find(parameter), nullptr) << parameter.name();
      EXPECT_LE(largest_difference(*one.find(parameter), *two.find(parameter)), kSame) << parameter.name();
    }
  }
}

TEST(Bert, TheLossIsTheWeightedSumOfItsParts) {
  ParameterStore store(initialise(6));
  const Bert model(store.root(), published());
  Context ctx;
  const TokenInput input = packed(ids_of({2, 4, 1, 2, 7}), {0, 3, 5});
  const Tensor tokens = ids_of({-100, 4, 5, -100, 7}), classes = ids_of({1, 2});
  const Variable hidden = model.hidden(ctx, input);
  const float token_loss = ops::cross_entropy(ctx, model.masked_logits(ctx, hidden), tokens).value().item();
  const float class_loss = ops::cross_entropy(ctx, model.class_logits(ctx, input, hidden), classes).value().item();
  const auto loss = [&](const BertTargets& targets) { return model.loss(ctx, input, targets).value().item(); };
  EXPECT_NEAR(loss({.tokens = tokens, .classes = classes, .token_weight = 0.25f, .class_weight = 3.0f}),
              0.25f * token_loss + 3.0f * class_loss, kSame);
  EXPECT_NEAR(loss({.tokens = tokens}), token_loss, kSame);
}

TEST(Bert, SegmentsChangeWhatIsRead) {
  ParameterStore store(initialise(7));
  const Bert model(store.root(), published());
  Context ctx;
  TokenInput input{.ids = ids_of({2, 4, 5})};
  const Tensor none = model.hidden(ctx, input).value();
  input.segment_ids = ids_of({0, 0, 0});
  EXPECT_EQ(largest_difference(none, model.hidden(ctx, input).value()), 0.0f);
  input.segment_ids = ids_of({0, 1, 1});
  EXPECT_GT(largest_difference(none, model.hidden(ctx, input).value()), 1e-3f);
  ParameterStore other_store(initialise(7));
  const Bert without(other_store.root(), notes_like());
  EXPECT_THAT([&] { without.hidden(ctx, input); },
              ThrowsMessage<Error>(HasSubstr("there are segment ids, but no segments")));
}

TEST(Bert, RefusesWhatDoesNotFit) {
  TransformerConfig config = published();
  config.classes = 0;
  EXPECT_THAT([&] { config.resolve(); }, ThrowsMessage<Error>(HasSubstr("model.classes is 0")));
  config.pooler = false;
  ParameterStore store(initialise(1));
  const Bert model(store.root(), config);
  Context ctx;
  const TokenInput input{.ids = ids_of({2, 4})};
  const Variable hidden = model.hidden(ctx, input);
  EXPECT_THAT([&] { model.class_logits(ctx, input, hidden); },
              ThrowsMessage<Error>(HasSubstr("this model has no class head")));
}

TEST(TransformerConfig, KeysOfAnotherArchitectureAreUnknown) {
  const Json json = {{"architecture", "bert"}, {"decoder_layers", 2}};
  EXPECT_THAT([&] { TransformerConfig::from_json(JsonView(json, "config")); },
              ThrowsMessage<Error>(HasSubstr("decoder_layers")));
  const Json wrong = {{"architecture", "bart"}};
  EXPECT_THAT([&] { TransformerConfig::from_json(JsonView(wrong, "config")); },
              ThrowsMessage<Error>(HasSubstr("did you mean \"bert\"")));
}

}  // namespace
}  // namespace weft::models
