#include "weft/generate/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "weft/base/error.h"
#include "weft/generate/logits_processor.h"

namespace weft::generate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float out = -std::numeric_limits<float>::infinity();

std::vector<float> processed(const SamplingOptions& options, std::vector<float> logits) {
  for (const auto& processor : make_processors(options)) processor->process({}, logits);
  return logits;
}

TEST(LogitsProcessors, TemperatureScalesDifferences) {
  EXPECT_THAT(processed({.temperature = 0.5}, {1, 3, 2}), ElementsAre(-4, 0, -2));
  EXPECT_THAT(processed({.temperature = 1e-30}, {1, 3, 3}), ElementsAre(testing::Lt(-1e29f), 0, 0));
}

TEST(LogitsProcessors, TopKKeepsTheLargestAndTheirEquals) {
  EXPECT_THAT(processed({.top_k = 2}, {1, 4, 3, 2}), ElementsAre(out, 4, 3, out));
  EXPECT_THAT(processed({.top_k = 2}, {3, 4, 3, 2}), ElementsAre(3, 4, 3, out));
  EXPECT_THAT(processed({.top_k = 9}, {1, 4}), ElementsAre(1, 4));
}

TEST(LogitsProcessors, TopPKeepsTheFewestThatReachP) {
  const auto logit = [](double p) { return static_cast<float>(std::log(p)); };
  const std::vector<float> logits = {logit(0.1), logit(0.5), logit(0.15), logit(0.25)};
  EXPECT_THAT(processed({.top_p = 0.45}, logits), ElementsAre(out, logits[1], out, out));
  EXPECT_THAT(processed({.top_p = 0.7}, logits), ElementsAre(out, logits[1], out, logits[3]));
  EXPECT_THAT(processed({.top_p = 1e-9}, logits), ElementsAre(out, logits[1], out, out));
  EXPECT_THAT(processed({.top_k = 3, .top_p = 0.99}, logits), ElementsAre(out, logits[1], logits[2], logits[3]));
}

TEST(LogitsProcessors, RefuseValuesOutsideTheirRange) {
  EXPECT_THAT([] { make_processors({.temperature = 0.0}); },
              testing::ThrowsMessage<Error>(HasSubstr("temperature is above 0, got 0")));
  EXPECT_THAT([] { make_processors({.top_k = -1}); },
              testing::ThrowsMessage<Error>(HasSubstr("top_k is 0 (all tokens) or more, got -1")));
  EXPECT_THAT([] { make_processors({.top_p = 0.0}); },
              testing::ThrowsMessage<Error>(HasSubstr("top_p is in (0, 1], got 0")));
}

TEST(MostProbable, TakesTheFirstOfEquals) {
  EXPECT_EQ(most_probable(std::array{1.0f, 3.0f, 3.0f, out}), 1);
  EXPECT_THAT([] { most_probable(std::array{out, out}); }, testing::ThrowsMessage<Error>(HasSubstr("nothing finite")));
  EXPECT_THAT(
      [] {
        most_probable(std::array{0.0f, std::nanf("")});
      },
      testing::ThrowsMessage<Error>(HasSubstr("a NaN")));
}

TEST(Draw, FollowsTheProbabilitiesAndTheSeed) {
  const std::array logits = {0.0f, std::log(3.0f), out, std::log(4.0f)};
  std::array<int, 4> counts{};
  constexpr int draws = 8000;
  for (uint64_t i = 0; i < draws; ++i) ++counts[static_cast<size_t>(draw(logits, Rng{7, 1}, i))];
  // Standard deviation of each count is at most √(8000/4) ≈ 45; four of them.
  EXPECT_NEAR(counts[0], draws * 1 / 8, 180);
  EXPECT_NEAR(counts[1], draws * 3 / 8, 180);
  EXPECT_EQ(counts[2], 0);
  EXPECT_NEAR(counts[3], draws * 4 / 8, 180);
  int different = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(draw(logits, Rng{7, 1}, i), draw(logits, Rng{7, 1}, i));
    different += draw(logits, Rng{7, 1}, i) != draw(logits, Rng{8, 1}, i) ? 1 : 0;
  }
  EXPECT_GT(different, 20);
}

}  // namespace
}  // namespace weft::generate
