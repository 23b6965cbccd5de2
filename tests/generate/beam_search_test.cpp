#include "weft/generate/beam_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/generate/exhaustive.h"
#include "weft/base/error.h"
#include "weft/generate/causal_decoder.h"
#include "weft/generate/log_softmax.h"
#include "weft/models/model_folder.h"

namespace weft::generate {
namespace {

using CausalLMWithParameters = models::WithParameters<models::CausalLM>;
using models::TransformerConfig;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Deviation 0.3: weights so large that the untrained model's choices vary from token to token.
TransformerConfig tiny(int64_t vocab_size) {
  return {.vocab_size = vocab_size,
          .max_length = 12,
          .d_model = 32,
          .layers = 2,
          .heads = 4,
          .initialisation = nn::Initialisation::normal,
          .initial_deviation = 0.3};
}

TEST(BeamSearch, ABeamAsWideAsTheSpaceRanksAsExhaustiveSearchDoes) {
  const CausalLMWithParameters tiny_model(initialise(1), tiny(4));
  const std::vector<int32_t> prompt = {1, 2};
  for (const double penalty : {0.0, 1.0, 2.5, -1.0}) {
    CausalDecoder recomputing(tiny_model.model, {.cache = CacheUse::recompute});
    const std::vector<Hypothesis> expected = Exhaustive(recomputing, 4, 0, penalty).rank(prompt);
    ASSERT_EQ(expected.size(), 1u + 3 + 9 + 27 + 81);
    CausalDecoder decoder(tiny_model.model);
    const auto size = static_cast<int64_t>(expected.size());
    const auto found = beam_search(decoder, std::span(&prompt, 1),
                                   {.beam_size = size,
                                    .n_best = size,
                                    .length_penalty = penalty,
                                    .stopping = BeamStopping::never,
                                    .max_new_tokens = 4,
                                    .end_id = 0});
    ASSERT_EQ(ids_of(found[0]), ids_of(expected)) << penalty;
    for (size_t i = 0; i < expected.size(); ++i) {
      // Relative to 1: up to four log-probabilities of order 1 from float32 logits.
      EXPECT_NEAR(found[0][i].score, expected[i].score, 2e-5) << i;
      EXPECT_NEAR(found[0][i].log_prob, expected[i].log_prob, 2e-5) << i;
    }
  }
}

// The same with linear attention, whose cache is a state per beam instead of keys and values.
TransformerConfig tiny_linear(int64_t vocab_size) {
  TransformerConfig config = tiny(vocab_size);
  config.attention_weights = nn::AttentionWeights::linear;
  return config;
}

const std::vector<std::vector<int32_t>> prompts = {{1, 2, 3}, {4}, {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}};

TEST(BeamSearch, ABeamOfOneIsGreedyDecoding) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const CausalLMWithParameters tiny_model(initialise(seed), tiny(23));
    CausalDecoder decoder(tiny_model.model);
    const auto greedy = generate(decoder, prompts, {.max_new_tokens = 20, .end_id = 7});
    const auto found = beam_search(decoder, prompts, {.beam_size = 1, .max_new_tokens = 20, .end_id = 7});
    for (size_t i = 0; i < prompts.size(); ++i) {
      ASSERT_EQ(found[i].size(), 1u);
      EXPECT_EQ(found[i][0].ids, greedy[i].ids);
      EXPECT_EQ(found[i][0].reason, greedy[i].reason);
    }
  }
}

TEST(BeamSearch, ABatchIsItsPromptsOneByOneAndCachedIsRecomputed) {
  for (const TransformerConfig& config : {tiny(23), tiny_linear(23)}) {
    const CausalLMWithParameters tiny_model(initialise(3), config);
    const BeamSearchOptions options{.beam_size = 5, .n_best = 5, .max_new_tokens = 25, .end_id = 7};
    CausalDecoder decoder(tiny_model.model), recomputing(tiny_model.model, {.cache = CacheUse::recompute});
    const auto together = beam_search(decoder, prompts, options);
    const auto recomputed = beam_search(recomputing, prompts, options);
    for (size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(ids_of(together[i]), ids_of(recomputed[i])) << "prompt " << i;
      EXPECT_EQ(ids_of(together[i]), ids_of(beam_search(decoder, std::span(&prompts[i], 1), options)[0])) << i;
    }
  }
}

TEST(BeamSearch, StoppingWhenDecidedReturnsWhatNeverStoppingReturns) {
  for (const double penalty : {0.0, 1.0, -0.5}) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const CausalLMWithParameters tiny_model(initialise(seed), tiny(9));
      CausalDecoder decoder(tiny_model.model);
      BeamSearchOptions options{.beam_size = 4,
                                .n_best = 2,
                                .length_penalty = penalty,
                                .stopping = BeamStopping::never,
                                .max_new_tokens = 10,
                                .end_id = 5};
      const std::vector<std::vector<int32_t>> starts = {{1, 2, 3}, {4}};
      const auto never = beam_search(decoder, starts, options);
      options.stopping = BeamStopping::decided;
      const auto decided = beam_search(decoder, starts, options);
      for (size_t i = 0; i < starts.size(); ++i) EXPECT_EQ(ids_of(never[i]), ids_of(decided[i])) << seed;
    }
  }
}

// A decoder of three tokens whose logits depend on the number of tokens so far alone, and that counts its steps.
class Script final : public Decoder {
 public:
  explicit Script(std::vector<std::array<float, 3>> probabilities, std::optional<int64_t> longest = std::nullopt)
      : probabilities_(std::move(probabilities)), longest_(longest) {}

  int64_t vocab_size() const override { return 3; }
  std::optional<int64_t> max_length() const override { return longest_; }
  Tensor start(std::span<const std::vector<int32_t>> starts, const DecoderRoom&) override {
    steps = 0;
    return logits(starts.size());
  }
  void select(std::span<const int64_t>) override {}
  Tensor next(std::span<const int32_t> ids) override { return logits(ids.size()); }

  size_t steps = 0;

 private:
  Tensor logits(size_t rows) {
    std::vector<float> values;
    for (size_t row = 0; row < rows; ++row) {
      for (const float p : probabilities_[std::min(steps, probabilities_.size() - 1)]) values.push_back(std::log(p));
    }
    ++steps;
    return Tensor::from<float>(values, {static_cast<int64_t>(rows), 3});
  }

  std::vector<std::array<float, 3>> probabilities_;
  std::optional<int64_t> longest_;
};

const std::vector<int32_t> start = {1};

TEST(BeamSearch, ScoresAreLogProbabilitiesOverLengthToThePenalty) {
  Script script({{0.2f, 0.7f, 0.1f}, {0.5f, 0.1f, 0.4f}});
  const auto found =
      beam_search(script, std::span(&start, 1),
                  {.beam_size = 2, .n_best = 2, .length_penalty = 2.0, .max_new_tokens = 5, .end_id = 0})[0];
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].ids, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(found[0].reason, StopReason::end_token);
  // Relative to 1: logarithms of float32 probabilities.
  EXPECT_NEAR(found[0].log_probs[0], std::log(0.7), 1e-6);
  EXPECT_NEAR(found[0].log_probs[1], std::log(0.5), 1e-6);
  EXPECT_NEAR(found[0].log_prob, std::log(0.35), 1e-6);
  EXPECT_NEAR(found[0].score, std::log(0.35) / 4.0, 1e-6);
  EXPECT_EQ(found[1].ids, (std::vector<int32_t>{0}));
  EXPECT_NEAR(found[1].score, std::log(0.2), 1e-6);
}

TEST(BeamSearch, StopsAsItIsTold) {
  // The end is likely at first and ever less likely: what has ended first is the best without a length penalty.
  Script script({{0.6f, 0.3f, 0.1f}, {0.4f, 0.3f, 0.3f}, {0.1f, 0.6f, 0.3f}});
  BeamSearchOptions options{
      .beam_size = 2, .length_penalty = 0.0, .stopping = BeamStopping::decided, .max_new_tokens = 6, .end_id = 0};
  EXPECT_EQ(beam_search(script, std::span(&start, 1), options)[0][0].ids, (std::vector<int32_t>{0}));
  EXPECT_EQ(script.steps, 1u);
  options.stopping = BeamStopping::enough;
  beam_search(script, std::span(&start, 1), options);
  EXPECT_EQ(script.steps, 2u);
  options.stopping = BeamStopping::never;
  EXPECT_EQ(beam_search(script, std::span(&start, 1), options)[0][0].ids, (std::vector<int32_t>{0}));
  EXPECT_EQ(script.steps, 6u);
}

TEST(BeamSearch, DecidedLooksAtTheBestThatLaterTokensCanMakeOfAHypothesis) {
  // What ends at once has the score log 0.6. The other one begins with log 0.3, but as the tokens after that are nearly
  // certain, its mean rises with every step.
  Script script({{0.6f, 0.3f, 0.1f}, {0.01f, 0.98f, 0.01f}});
  for (const BeamStopping stopping : {BeamStopping::decided, BeamStopping::never}) {
    const auto found = beam_search(script, std::span(&start, 1),
                                   {.beam_size = 2, .stopping = stopping, .max_new_tokens = 6, .end_id = 0})[0];
    EXPECT_EQ(found[0].ids, (std::vector<int32_t>{1, 1, 1, 1, 1, 1}));
  }
}

TEST(BeamSearch, AnEndThatIsNotAmongTheBestContinuationsIsNone) {
  // The second step's continuations are, the best first: the first hypothesis ends (0.30) or goes on (0.24), the second
  // ends (0.15) or goes on (0.12). Only one end is among the best two, so the search does not have two and goes on.
  Script script({{0.1f, 0.6f, 0.3f}, {0.5f, 0.4f, 0.1f}, {0.01f, 0.5f, 0.49f}});
  const auto found =
      beam_search(script, std::span(&start, 1), {.beam_size = 2, .n_best = 2, .max_new_tokens = 5, .end_id = 0})[0];
  EXPECT_EQ(script.steps, 5u);
  EXPECT_EQ(ids_of(found), (std::vector<std::vector<int32_t>>{{1, 0}, {1, 1, 1, 1, 1}}));
}

TEST(BeamSearch, EqualsComeInTheOrderOfTheirIds) {
  Script script({{0.2f, 0.4f, 0.4f}});
  const auto found = beam_search(script, std::span(&start, 1), {.beam_size = 3, .n_best = 3, .max_new_tokens = 2})[0];
  EXPECT_EQ(ids_of(found), (std::vector<std::vector<int32_t>>{{1, 1}, {1, 2}, {2, 1}}));
}

TEST(BeamSearch, EndsWhereTheDecoderEnds) {
  Script script({{0.1f, 0.5f, 0.4f}}, 3);
  for (const int64_t beam_size : {1, 2}) {
    const auto found = beam_search(script, std::span(&start, 1), {.beam_size = beam_size, .max_new_tokens = 9})[0];
    EXPECT_EQ(found[0].ids.size(), 3u);
    EXPECT_EQ(found[0].reason, StopReason::length);
  }
  EXPECT_EQ(generate(script, start, {.max_new_tokens = 9}).ids.size(), 3u);
  EXPECT_THAT(
      [&] {
        generate(script, {1, 1, 1, 1}, {});
      },
      ThrowsMessage<Error>(HasSubstr("a prompt of 4 tokens, the model takes 3")));
}

TEST(BeamSearch, RefusesWhatMakesNoSense) {
  Script script({{0.2f, 0.4f, 0.4f}});
  const auto run = [&](const BeamSearchOptions& options) {
    return [&script, options] { beam_search(script, std::span(&start, 1), options); };
  };
  EXPECT_THAT(run({.beam_size = 0}), ThrowsMessage<Error>(HasSubstr("beam_size is 1 to 4096, got 0")));
  EXPECT_THAT(run({.beam_size = 2, .n_best = 3}), ThrowsMessage<Error>(HasSubstr("n_best is 1 to beam_size 2, got 3")));
  EXPECT_THAT(run({.length_penalty = std::nan("")}), ThrowsMessage<Error>(HasSubstr("length_penalty is −10 to 10")));
  EXPECT_THAT(run({.max_new_tokens = 0}), ThrowsMessage<Error>(HasSubstr("max_new_tokens is 1 or more, got 0")));
  EXPECT_THAT(run({.end_id = 3}), ThrowsMessage<Error>(HasSubstr("end_id is an id of the vocabulary of 3, got 3")));
  EXPECT_THAT([] { parse_beam_stopping("always"); }, ThrowsMessage<UsageError>(HasSubstr("not \"always\"")));
  const CausalLMWithParameters tiny_model(initialise(1), tiny(4));
  CausalDecoder decoder(tiny_model.model);
  EXPECT_THAT([&] { beam_search(decoder, std::vector<std::vector<int32_t>>{{}}, {}); },
              ThrowsMessage<Error>(HasSubstr("prompt 0 is empty")));
}

TEST(MostProbableTokens, AreTheLargestLogitsWithTheirLogProbabilities) {
  const std::vector<float> logits = {1.0f, 3.0f, 2.0f, 3.0f, -std::numeric_limits<float>::infinity()};
  const auto tokens = most_probable_tokens(logits, 3);
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens[0].id, 1);
  EXPECT_EQ(tokens[1].id, 3);
  EXPECT_EQ(tokens[2].id, 2);
  const double total = std::log(std::exp(1.0) + 2.0 * std::exp(3.0) + std::exp(2.0));
  EXPECT_NEAR(tokens[0].log_prob, 3.0 - total, 1e-6);  // relative to 1: a float32 softmax weight
  EXPECT_NEAR(tokens[2].log_prob, 2.0 - total, 1e-6);
  EXPECT_EQ(most_probable_tokens(logits, 9).size(), 4u);
}

TEST(MostProbableTokens, RefusesBrokenLogits) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& logits :
       {std::vector<float>{1.0f, std::nanf(""), 2.0f}, {-infinity, -infinity}, {1.0f, infinity}, {}}) {
    EXPECT_THAT([&] { most_probable_tokens(logits, 1); }, ThrowsMessage<Error>(HasSubstr("decoding: ")));
  }
}

// What a search over a real model copies of the cache: a beam that parts from another takes over the rows in which they
// differ, not its whole text.
TEST(BeamSearch, CopiesOnlyWhatChanged) {
  const CausalLMWithParameters tiny_model(initialise(1), [] {
    TransformerConfig config = tiny(23);
    config.max_length = 128;
    return config;
  }());
  CausalDecoder decoder(tiny_model.model);
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < 60; ++i) prompt.push_back(i % 23);
  beam_search(decoder, std::span(&prompt, 1), {.beam_size = 4, .max_new_tokens = 60});
  // The prompt once for each of three more beams; then beams part within few tokens (376 rows in all when this was
  // written). Copying whole texts where one beam becomes two would be 5,847 rows.
  EXPECT_GE(decoder.cache()->rows_copied(), 3 * 60);
  EXPECT_LE(decoder.cache()->rows_copied(), 3 * 60 + 60 * 10);
}

}  // namespace
}  // namespace weft::generate
