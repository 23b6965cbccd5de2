#include "weft/generate/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "weft/base/error.h"
#include "weft/generate/beam_search.h"
#include "weft/generate/causal_decoder.h"
#include "weft/models/model_folder.h"

namespace weft::generate {
namespace {

using CausalLMWithParameters = models::WithParameters<models::CausalLM>;
using models::TransformerConfig;
using testing::HasSubstr;

// Deviation 0.3: weights so large that the untrained model's choices vary from token to token.
TransformerConfig tiny(nn::Positions positions = nn::Positions::learned) {
  return {.vocab_size = 23,
          .max_length = 12,
          .d_model = 32,
          .layers = 2,
          .heads = 4,
          .positions = positions,
          .initialisation = nn::Initialisation::normal,
          .initial_deviation = 0.3};
}

std::vector<std::vector<int32_t>> ids_of(const std::vector<Generated>& results) {
  std::vector<std::vector<int32_t>> ids;
  for (const Generated& result : results) ids.push_back(result.ids);
  return ids;
}

const std::vector<std::vector<int32_t>> prompts = {{1, 2, 3}, {4}, {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}};

TEST(Generate, CachedIsUncachedAlsoPastTheWindow) {
  for (const nn::Positions positions : {nn::Positions::learned, nn::Positions::rotary, nn::Positions::sinusoidal}) {
    const CausalLMWithParameters tiny_model(initialise(1), tiny(positions));
    const GenerateOptions options{.max_new_tokens = 30};
    CausalDecoder decoder(tiny_model.model), recomputing(tiny_model.model, {.cache = CacheUse::recompute});
    const auto cached = ids_of(generate(decoder, prompts, options));
    EXPECT_EQ(cached, ids_of(generate(recomputing, prompts, options)));
    for (const auto& ids : cached) EXPECT_EQ(ids.size(), 30u);
  }
}

TEST(Generate, ChoosesNoIdBeyondTheVocabularyThatItWasGiven) {
  const CausalLMWithParameters tiny_model(initialise(1), tiny());
  CausalDecoder all(tiny_model.model), few(tiny_model.model, {.vocab_size = 5}),
      more(tiny_model.model, {.vocab_size = 1000});
  EXPECT_EQ(few.vocab_size(), 5);
  const GenerateOptions options{.max_new_tokens = 30};
  EXPECT_EQ(ids_of(generate(more, prompts, options)), ids_of(generate(all, prompts, options)));
  bool restricts = false;
  for (const auto& ids : ids_of(generate(all, prompts, options))) {
    restricts |= std::ranges::any_of(ids, [](int32_t id) { return id >= 5; });
  }
  EXPECT_TRUE(restricts);
  // Prompts may still hold every id that the model reads.
  for (const auto& ids : ids_of(generate(few, prompts, options))) {
    EXPECT_TRUE(std::ranges::all_of(ids, [](int32_t id) { return id < 5; }));
  }
  const auto found = beam_search(few, prompts, {.beam_size = 3, .max_new_tokens = 6});
  for (const Hypothesis& hypothesis : found.at(2)) {
    EXPECT_TRUE(std::ranges::all_of(hypothesis.ids, [](int32_t id) { return id < 5; }));
  }
}

TEST(Generate, ABatchIsItsSequencesOneByOne) {
  const CausalLMWithParameters tiny_model(initialise(2), tiny());
  CausalDecoder decoder(tiny_model.model);
  const GenerateOptions options{.max_new_tokens = 20};
  const auto together = ids_of(generate(decoder, prompts, options));
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(together[i], generate(decoder, prompts[i], options).ids) << "prompt " << i;
  }
}

TEST(Generate, SamplingFollowsTheSeedAlone) {
  const CausalLMWithParameters tiny_model(initialise(3), tiny());
  CausalDecoder decoder(tiny_model.model);
  GenerateOptions options{
      .max_new_tokens = 25, .decoding = Decoding::sample, .sampling = {.temperature = 2.0, .top_k = 9}, .seed = 4};
  const auto first = ids_of(generate(decoder, prompts, options));
  EXPECT_EQ(first, ids_of(generate(decoder, prompts, options)));
  options.seed = 5;
  EXPECT_NE(first, ids_of(generate(decoder, prompts, options)));
  options.sampling.top_k = 1;
  options.decoding = Decoding::sample;
  const auto sharpest = ids_of(generate(decoder, prompts, options));
  options.decoding = Decoding::greedy;
  EXPECT_EQ(sharpest, ids_of(generate(decoder, prompts, options)));
}

TEST(Generate, StopsAtTheEndTokenAndForTheCaller) {
  const CausalLMWithParameters tiny_model(initialise(1), tiny());
  CausalDecoder decoder(tiny_model.model);
  GenerateOptions options{.max_new_tokens = 10};
  const auto all = ids_of(generate(decoder, prompts, options));
  options.end_id = all[0][0];
  const std::vector<Generated> ended = generate(decoder, prompts, options);
  EXPECT_THAT(ended[0].ids, testing::ElementsAre(all[0][0]));
  EXPECT_EQ(ended[0].reason, StopReason::end_token);
  options.end_id.reset();
  std::vector<std::vector<int32_t>> seen(prompts.size());
  const std::vector<Generated> stopped = generate(decoder, prompts, options, [&](int64_t sequence, int32_t id) {
    seen[static_cast<size_t>(sequence)].push_back(id);
    return sequence != 1 || seen[1].size() < 4;
  });
  EXPECT_EQ(seen, ids_of(stopped));
  EXPECT_EQ(stopped[1].ids, std::vector<int32_t>(all[1].begin(), all[1].begin() + 4));
  EXPECT_EQ(stopped[1].reason, StopReason::caller);
  EXPECT_EQ(stopped[0].ids, all[0]);
  EXPECT_EQ(stopped[2].ids, all[2]);
  EXPECT_EQ(stopped[2].reason, StopReason::length);
}

TEST(Generate, RefusesWhatItCannotContinue) {
  const CausalLMWithParameters tiny_model(initialise(1), tiny());
  CausalDecoder decoder(tiny_model.model);
  const auto run = [&](const std::vector<int32_t>& prompt, int64_t max_new_tokens) {
    generate(decoder, prompt, {.max_new_tokens = max_new_tokens});
  };
  EXPECT_THAT([&] { run({}, 1); }, testing::ThrowsMessage<Error>(HasSubstr("prompt 0 is empty")));
  EXPECT_THAT([&] { run({23}, 1); },
              testing::ThrowsMessage<Error>(HasSubstr("prompt 0 has the id 23, the vocabulary has 23")));
  EXPECT_THAT([&] { run({1}, 0); }, testing::ThrowsMessage<Error>(HasSubstr("max_new_tokens is 1 or more, got 0")));
}

}  // namespace
}  // namespace weft::generate
