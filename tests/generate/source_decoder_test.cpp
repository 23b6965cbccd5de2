#include "weft/generate/source_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/generate/exhaustive.h"
#include "weft/base/error.h"
#include "weft/models/model_folder.h"

namespace weft::generate {
namespace {

using models::EncoderDecoder;
using models::TransformerConfig;
using Model = models::WithParameters<EncoderDecoder>;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Deviation 0.3: weights so large that the untrained model's choices vary from token to token and with the source.
TransformerConfig tiny(int64_t vocab_size) {
  return {.architecture = models::Architecture::encoder_decoder,
          .vocab_size = vocab_size,
          .max_length = 14,
          .d_model = 32,
          .layers = 2,
          .heads = 4,
          .initialisation = nn::Initialisation::normal,
          .initial_deviation = 0.3};
}

using Sequences = std::vector<std::vector<int32_t>>;

const Sequences sources = {{3, 4, 5, 6}, {9}, {8, 2, 8, 1, 8, 2, 8, 11, 7}};
const Sequences starts = {{1}, {1}, {1}};
constexpr int32_t end_id = 2;

Sequences ids_of(const std::vector<Generated>& results) {
  Sequences ids;
  for (const Generated& result : results) ids.push_back(result.ids);
  return ids;
}

TEST(SourceDecoder, CachedIsRecomputedAndABatchIsItsSourcesOneByOne) {
  const GenerateOptions options{.max_new_tokens = 12, .end_id = end_id};
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const Model tiny_model(initialise(seed), tiny(13));
    SourceDecoder decoder(tiny_model.model, sources),
        recomputing(tiny_model.model, sources, {.cache = CacheUse::recompute});
    const Sequences together = ids_of(generate(decoder, starts, options));
    EXPECT_EQ(together, ids_of(generate(recomputing, starts, options)));
    EXPECT_NE(together[0], together[1]);
    for (size_t i = 0; i < sources.size(); ++i) {
      SourceDecoder alone(tiny_model.model, std::span(&sources[i], 1));
      EXPECT_EQ(together[i], generate(alone, starts[i], options).ids) << "source " << i;
    }
  }
}

TEST(SourceDecoder, ChoosesNoIdBeyondTheVocabularyThatItWasGiven) {
  const Model tiny_model(initialise(1), tiny(13));
  SourceDecoder few(tiny_model.model, sources, {.vocab_size = 4});
  EXPECT_EQ(few.vocab_size(), 4);
  const Sequences prompts = {{1}, {1}, {12}};  // the model reads more than it may choose
  for (const auto& ids : ids_of(generate(few, prompts, {.max_new_tokens = 12}))) {
    EXPECT_TRUE(std::ranges::all_of(ids, [](int32_t id) { return id < 4; }));
  }
}

TEST(SourceDecoder, BeamsSearchWhatTheyWouldSearchAlone) {
  const BeamSearchOptions options{.beam_size = 4, .n_best = 4, .max_new_tokens = 12, .end_id = end_id};
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const Model tiny_model(initialise(seed), tiny(13));
    SourceDecoder decoder(tiny_model.model, sources),
        recomputing(tiny_model.model, sources, {.cache = CacheUse::recompute});
    const auto together = beam_search(decoder, starts, options);
    const auto recomputed = beam_search(recomputing, starts, options);
    for (size_t i = 0; i < sources.size(); ++i) {
      EXPECT_EQ(ids_of(together[i]), ids_of(recomputed[i])) << "source " << i;
      SourceDecoder alone(tiny_model.model, std::span(&sources[i], 1));
      EXPECT_EQ(ids_of(together[i]), ids_of(beam_search(alone, std::span(&starts[i], 1), options)[0])) << i;
    }
  }
}

TEST(SourceDecoder, ABeamOfOneIsGreedyDecoding) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Model tiny_model(initialise(seed), tiny(13));
    SourceDecoder decoder(tiny_model.model, sources);
    const Sequences greedy = ids_of(generate(decoder, starts, {.max_new_tokens = 12, .end_id = end_id}));
    const auto found = beam_search(decoder, starts, {.beam_size = 1, .max_new_tokens = 12, .end_id = end_id});
    for (size_t i = 0; i < sources.size(); ++i) EXPECT_EQ(found[i][0].ids, greedy[i]);
  }
}

TEST(SourceDecoder, ABeamAsWideAsTheSpaceRanksAsExhaustiveSearchDoes) {
  const Model tiny_model(initialise(1), tiny(4));
  const std::vector<int32_t> source = {3, 1, 0}, first = {1};
  SourceDecoder recomputing(tiny_model.model, std::span(&source, 1), {.cache = CacheUse::recompute});
  const std::vector<Hypothesis> expected = Exhaustive(recomputing, 4, end_id, 1.0).rank(first);
  const auto size = static_cast<int64_t>(expected.size());
  SourceDecoder decoder(tiny_model.model, std::span(&source, 1));
  const auto found = beam_search(
      decoder, std::span(&first, 1),
      {.beam_size = size, .n_best = size, .stopping = BeamStopping::never, .max_new_tokens = 4, .end_id = end_id});
  EXPECT_EQ(ids_of(found[0]), ids_of(expected));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found[0][i].score, expected[i].score, 2e-5);  // relative to 1: log-probabilities from float32 logits
  }
}

TEST(SourceDecoder, Bf16DecodesAsWell) {
  const Model tiny_model(initialise(1), tiny(13));
  SourceDecoder decoder(tiny_model.model, sources, {.precision = Precision::bf16});
  const auto found = beam_search(decoder, starts, {.beam_size = 3, .max_new_tokens = 12, .end_id = end_id});
  for (const auto& hypotheses : found) EXPECT_FALSE(hypotheses[0].ids.empty());
}

TEST(SourceDecoder, EndsAtTheModelsLongestSequence) {
  const Model tiny_model(initialise(4), tiny(13));
  SourceDecoder decoder(tiny_model.model, sources);
  for (const Generated& result : generate(decoder, starts, {.max_new_tokens = 100})) {
    EXPECT_EQ(result.ids.size(), 14u);  // the last of them is an answer to 14 tokens
    EXPECT_EQ(result.reason, StopReason::length);
  }
}

TEST(SourceDecoder, RefusesWhatItCannotDecodeFrom) {
  const Model tiny_model(initialise(4), tiny(13));
  const auto make = [&](const Sequences& bad) { return [&tiny_model, bad] { SourceDecoder(tiny_model.model, bad); }; };
  EXPECT_THAT(make({}), ThrowsMessage<Error>(HasSubstr("there is no source")));
  EXPECT_THAT(make({{3}, {}}), ThrowsMessage<Error>(HasSubstr("source 1 has 0 tokens, the model takes 1 to 14")));
  EXPECT_THAT(make({std::vector<int32_t>(15, 3)}), ThrowsMessage<Error>(HasSubstr("source 0 has 15 tokens")));
  EXPECT_THAT(make({{13}}), ThrowsMessage<Error>(HasSubstr("source 0 has the id 13, the vocabulary has 13")));
  SourceDecoder decoder(tiny_model.model, sources);
  EXPECT_THAT([&] { generate(decoder, {1}, {}); }, ThrowsMessage<Error>(HasSubstr("1 prompts for 3 sources")));
}

}  // namespace
}  // namespace weft::generate
