#include "weft/models/causal_lm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/models/tensors.h"
#include "tests/support/message_of.h"
#include "weft/base/error.h"
#include "weft/base/threads.h"
#include "weft/kernels/elementwise.h"

namespace weft::models {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TransformerConfig tiny() {
  TransformerConfig config;
  config.vocab_size = 11;
  config.max_length = 16;
  config.d_model = 24;
  config.layers = 2;
  config.heads = 4;
  return config;
}

TransformerConfig llama_like() {
  TransformerConfig config = tiny();
  config.kv_heads = 2;
  config.norm = kernels::NormKind::rms_norm;
  config.activation = kernels::Activation::silu;
  config.gated = true;
  config.attention_bias = config.feed_forward_bias = false;
  config.positions = nn::Positions::rotary;
  config.tie_embeddings = false;
  return config;
}

TransformerConfig notes_like() {
  TransformerConfig config = tiny();
  config.wiring = nn::Wiring::block_input;
  config.final_norm = false;
  config.activation = kernels::Activation::relu;
  config.positions = nn::Positions::sinusoidal;
  config.tie_embeddings = false;
  config.output_bias = true;
  config.initialisation = nn::Initialisation::xavier_uniform;
  return config;
}

struct Setting {
  std::string name;
  TransformerConfig config;
};

std::vector<Setting> settings() {
  TransformerConfig b2t = notes_like();
  b2t.wiring = nn::Wiring::b2t;
  std::vector<Setting> settings = {{"gpt2", tiny()}, {"llama", llama_like()}, {"notes", notes_like()}, {"b2t", b2t}};
  for (const auto& [name, positions] : {std::pair{"relative", nn::Positions::relative},
                                        {"alibi", nn::Positions::alibi},
                                        {"buckets", nn::Positions::buckets}}) {
    TransformerConfig config = tiny();
    config.kv_heads = 2;
    config.positions = positions;
    config.relative_distance = 3;
    config.bias_buckets = 6;
    config.bias_max_distance = 9;
    settings.push_back({name, config});
  }
  TransformerConfig hard = tiny();
  hard.attention_weights = nn::AttentionWeights::hard;
  settings.push_back({"hard", hard});
  TransformerConfig linear = tiny();
  linear.attention_weights = nn::AttentionWeights::linear;
  settings.push_back({"linear", linear});
  linear.kv_heads = 2;
  linear.positions = nn::Positions::sinusoidal;
  settings.push_back({"linear_grouped", linear});
  return settings;
}

class CausalLMTest : public ::testing::TestWithParam<Setting> {
 protected:
  CausalLMTest() : store_(initialise(3)), model_(store_.root(), GetParam().config) {}

  Tensor logits(const TokenInput& input, nn::KvCache* cache = nullptr) {
    Context ctx;
    return model_.logits(ctx, input, cache).value();
  }

  ParameterStore store_;
  CausalLM model_;
};

TEST_P(CausalLMTest, PackedEqualsPadded) {
  const std::array<int64_t, 3> offsets = {0, 3, 8};
  const std::array<int64_t, 2> lengths = {3, 5};
  const Tensor packed = logits({.ids = ids_of({1, 2, 3, 4, 5, 6, 7, 8}), .mask = Mask::packed(offsets, true)});
  const Tensor padded =
      logits({.ids = ids_of({1, 2, 3, 0, 0, 4, 5, 6, 7, 8}).reshape({2, 5}), .mask = Mask::padded(lengths, 5, true)});
  const Tensor rows = padded.reshape({10, 11});
  EXPECT_LE(largest_difference(packed.slice(0, 0, 3), rows.slice(0, 0, 3)), kSame);
  EXPECT_LE(largest_difference(packed.slice(0, 3, 8), rows.slice(0, 5, 10)), kSame);
}

TEST_P(CausalLMTest, PackedAndPaddedGiveTheSameLossAndGradients) {
  const std::array<int64_t, 3> offsets = {0, 3, 8};
  const std::array<int64_t, 2> lengths = {3, 5};
  const auto gradients_of = [&](const TokenInput& input, const Tensor& targets, float& loss) {
    Tape tape;
    Context ctx{.tape = &tape};
    const Variable result = model_.loss(ctx, input, targets);
    loss = result.value().item();
    return tape.backward(result);
  };
  float packed_loss = 0.0f, padded_loss = 0.0f;
  const Gradients packed = gradients_of({.ids = ids_of({1, 2, 3, 4, 5, 6, 7, 8}), .mask = Mask::packed(offsets, true)},
                                        ids_of({2, 3, 4, 5, 6, 7, 8, 9}), packed_loss);
  const Gradients padded = gradients_of(
      {.ids = ids_of({1, 2, 3, 0, 0, 4, 5, 6, 7, 8}).reshape({2, 5}), .mask = Mask::padded(lengths, 5, true)},
      ids_of({2, 3, 4, -100, -100, 5, 6, 7, 8, 9}), padded_loss);
  EXPECT_NEAR(packed_loss, padded_loss, kSame);
  for (const Parameter& parameter : store_) {
    ASSERT_NE(packed.find(parameter), nullptr) << parameter.name();
    EXPECT_LE(largest_difference(*packed.find(parameter), *padded.find(parameter)), kSame) << parameter.name();
  }
}

TEST_P(CausalLMTest, CachedDecodingEqualsTheFullForwardPass) {
  const Tensor ids = ids_of({1, 2, 3, 4, 5, 6, 7});
  const Tensor full = logits({.ids = ids});
  nn::KvCache cache = model_.make_cache(1, 16, Precision::f32);
  const Tensor prompt = logits({.ids = ids.slice(0, 0, 4)}, &cache);
  EXPECT_LE(largest_difference(prompt, full.slice(0, 0, 4)), kSame);
  for (int64_t t = 4; t < 7; ++t) {
    EXPECT_LE(largest_difference(logits({.ids = ids.slice(0, t, t + 1)}, &cache), full.slice(0, t, t + 1)), kSame) << t;
  }
  EXPECT_EQ(cache.length(0), 7);
  if (cache.holds_states()) {
    EXPECT_THAT([&] { cache.truncate(0, 5); }, ThrowsMessage<Error>(HasSubstr("from 7 to 5 tokens, only to none")));
    cache.truncate(0, 0);
    EXPECT_LE(largest_difference(logits({.ids = ids.slice(0, 0, 5)}, &cache), full.slice(0, 0, 5)), kSame);
  } else {
    cache.truncate(0, 5);
  }
  EXPECT_LE(largest_difference(logits({.ids = ids.slice(0, 5, 6)}, &cache), full.slice(0, 5, 6)), kSame);
}

TEST_P(CausalLMTest, BatchedCacheServesSequencesOfDifferentLengths) {
  const Tensor a = ids_of({1, 2, 3, 4, 5}), b = ids_of({9, 8});
  nn::KvCache cache = model_.make_cache(2, 8, Precision::f32);
  const std::array<int64_t, 3> prompt = {0, 4, 5}, step = {0, 1, 2};
  logits({.ids = ids_of({1, 2, 3, 4, 9}), .mask = Mask::packed(prompt, true)}, &cache);
  const Tensor next = logits({.ids = ids_of({5, 8}), .mask = Mask::packed(step, true)}, &cache);
  EXPECT_LE(largest_difference(next.slice(0, 0, 1), logits({.ids = a}).slice(0, 4, 5)), kSame);
  EXPECT_LE(largest_difference(next.slice(0, 1, 2), logits({.ids = b}).slice(0, 1, 2)), kSame);
}

TEST_P(CausalLMTest, TracedAttentionGivesTheSameLogitsAndMapsThatAreDistributions) {
  const TokenInput input{.ids = ids_of({1, 2, 3, 4})};
  AttentionTrace trace;
  Context ctx{.trace = &trace};
  EXPECT_LE(largest_difference(model_.logits(ctx, input).value(), logits(input)), kSame);
  ASSERT_EQ(trace.entries.size(), 2u);
  EXPECT_EQ(trace.entries[1].layer, "blocks.1.attention");
  const Tensor& weights = trace.entries[0].weights;
  ASSERT_EQ(weights.shape(), (Shape{1, 4, 4, 4}));
  for (int64_t row = 0; row < 16; ++row) {
    float total = 0.0f;
    for (int64_t j = 0; j < 4; ++j) {
      const float w = weights.data<float>()[row * 4 + j];
      total += w;
      if (j > row % 4) {
        EXPECT_EQ(w, 0.0f);
      }
    }
    EXPECT_NEAR(total, 1.0f, 1e-6f);
  }
}

TEST_P(CausalLMTest, LaterTokensDoNotChangeEarlierLogits) {
  const Tensor full = logits({.ids = ids_of({1, 2, 3, 4, 5})});
  const Tensor changed = logits({.ids = ids_of({1, 2, 3, 9, 9})});
  EXPECT_LE(largest_difference(full.slice(0, 0, 3), changed.slice(0, 0, 3)), kSame);
}

TEST_P(CausalLMTest, TheSameForOneThreadAndTwo) {
  const TokenInput input{.ids = ids_of({1, 2, 3, 4, 5})};
  const int before = thread_count();
  set_thread_count(1);
  const Tensor one = logits(input).clone();
  set_thread_count(2);
  EXPECT_LE(largest_difference(one, logits(input)), kSame);
  set_thread_count(before);
}

TEST_P(CausalLMTest, Bf16IsCloseToF32) {
  Context ctx{.precision = Precision::bf16};
  const Tensor exact = logits({.ids = ids_of({1, 2, 3, 4, 5})});
  const Tensor rounded = model_.logits(ctx, {.ids = ids_of({1, 2, 3, 4, 5})}).value().to(DType::f32);
  const double size = std::sqrt(kernels::sum_of_squares(exact.data<float>(), exact.numel()) / exact.numel());
  // Relative to the logits' root mean square: bf16 keeps 8 bits (4e-3), two blocks round a dozen times.
  EXPECT_LE(largest_difference(exact, rounded), 5e-2 * size);
}

INSTANTIATE_TEST_SUITE_P(Settings, CausalLMTest, ::testing::ValuesIn(settings()),
                         [](const auto& info) { return info.param.name; });

TEST(CausalLM, LinearAttentionRefusesWhatItHasNoScoresFor) {
  const auto error = [](const auto& change) {
    TransformerConfig config = tiny();
    config.attention_weights = nn::AttentionWeights::linear;
    change(config);
    return testing_support::message_of([&] { config.resolve(); });
  };
  EXPECT_EQ(error([](TransformerConfig&) {}), "(no error)");
  EXPECT_THAT(error([](auto& config) { config.positions = nn::Positions::rotary; }),
              HasSubstr("no scores that positions = \"rotary\" could change; use \"learned\""));
  for (const auto positions : {nn::Positions::relative, nn::Positions::alibi, nn::Positions::buckets}) {
    EXPECT_THAT(error([&](auto& config) { config.positions = positions; }), HasSubstr("model.positions"));
  }
  EXPECT_THAT(error([](auto& config) { config.attention_dropout = 0.1; }),
              HasSubstr("has no weights to drop, got 0.1"));
}

TEST(CausalLM, TheCacheOfLinearAttentionDoesNotGrowWithTheContext) {
  TransformerConfig config = tiny();
  config.attention_weights = nn::AttentionWeights::linear;
  ParameterStore store(initialise(3));
  const CausalLM model(store.root(), config);
  nn::KvCache cache = model.make_cache(2, 16, Precision::bf16);
  EXPECT_FALSE(cache.layer(1).keys.defined());
  EXPECT_EQ(cache.layer(1).states.shape(), (Shape{2, 4 * 6 * 7}));  // heads · head_dim · (head_dim + 1)
  EXPECT_EQ(cache.layer(1).states.dtype(), DType::f32);
  AttentionTrace trace;
  Context ctx{.trace = &trace};
  const TokenInput input{.ids = ids_of({1, 2, 3, 4}).reshape({2, 2})};
  EXPECT_THAT([&] { model.logits(ctx, input, &cache); }, ThrowsMessage<Error>(HasSubstr("a state holds no keys")));
  TransformerConfig softmax = tiny();
  ParameterStore other_store(initialise(3));
  const CausalLM other(other_store.root(), softmax);
  Context plain;
  EXPECT_THAT([&] { other.logits(plain, input, &cache); }, ThrowsMessage<Error>(HasSubstr("a cache of states")));
}

TEST(CausalLM, DropoutDependsOnTheStreamAlone) {
  TransformerConfig config = tiny();
  config.dropout = config.attention_dropout = 0.3;
  ParameterStore store(initialise(3));
  const CausalLM model(store.root(), config);
  const TokenInput input{.ids = ids_of({1, 2, 3, 4})};
  const auto loss = [&](uint64_t stream) {
    Context ctx{.training = true, .rng = Rng{1, stream}};
    return model.loss(ctx, input, ids_of({2, 3, 4, 5})).value().item();
  };
  EXPECT_EQ(loss(1), loss(1));
  EXPECT_NE(loss(1), loss(2));
}

TEST(CausalLM, RejectsWhatItCannotTake) {
  ParameterStore store(initialise(3));
  const CausalLM model(store.root(), tiny());
  Context ctx;
  EXPECT_THAT([&] { model.logits(ctx, {.ids = ids_of({1, 11})}); }, ThrowsMessage<Error>(HasSubstr("11")));
  EXPECT_THAT([&] { model.logits(ctx, {.ids = Tensor::zeros({17}, DType::i32)}); },
              ThrowsMessage<Error>(HasSubstr("position 16 is past the model's max_length 16")));
  EXPECT_THAT([&] { model.logits(ctx, {}); }, ThrowsMessage<Error>(HasSubstr("at least one")));
  EXPECT_THAT(
      [&] {
        model.loss(ctx, {.ids = ids_of({1, 2})}, ids_of({1}));
      },
      ThrowsMessage<Error>(HasSubstr("2 rows need as many targets, got 1")));
  EXPECT_THAT(
      [&] {
        model.loss(ctx, {.ids = ids_of({1, 2})}, ids_of({1, 42}));
      },
      ThrowsMessage<Error>(HasSubstr("target 42 is not in [0, 11)")));
}

TEST(TransformerConfig, RoundTripsThroughJson) {
  for (const Setting& setting : settings()) {
    const Json json = setting.config.to_json();
    EXPECT_EQ(TransformerConfig::from_json(JsonView(json, "config.json")).to_json(), json) << setting.name;
  }
}

TEST(TransformerConfig, ExplainsBadValues) {
  const auto resolved = [](auto change) {
    TransformerConfig config = tiny();
    change(config);
    config.resolve();
  };
  EXPECT_THAT([&] { resolved([](auto& c) { c.heads = 5; }); },
              ThrowsMessage<Error>(HasSubstr("d_model 24 is not a multiple of heads 5")));
  EXPECT_THAT([&] { resolved([](auto& c) { c.kv_heads = 3; }); },
              ThrowsMessage<Error>(HasSubstr("heads 4 is not a multiple of kv_heads 3")));
  EXPECT_THAT([&] { resolved([](auto& c) { c.dropout = 1.0; }); },
              ThrowsMessage<Error>(HasSubstr("model.dropout: expected a probability")));
  EXPECT_THAT([&] { resolved([](auto& c) { c.layers = 0; }); }, ThrowsMessage<Error>(HasSubstr("model.layers")));
  EXPECT_THAT([&] { resolved([](auto& c) { c.norm_epsilon = 0; }); },
              ThrowsMessage<Error>(HasSubstr("model.norm_epsilon")));
  const Json json = {{"d_modle", 3}};
  EXPECT_THAT([&] { TransformerConfig::from_json(JsonView(json, "config.json")); },
              ThrowsMessage<Error>(HasSubstr("did you mean \"d_model\"")));
  const Json wiring = {{"wiring", "pre"}};
  EXPECT_THAT([&] { TransformerConfig::from_json(JsonView(wiring, "config.json")); },
              ThrowsMessage<Error>(HasSubstr("there is no \"pre\"")));
}

}  // namespace
}  // namespace weft::models
