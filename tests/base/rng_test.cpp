#include "weft/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "tests/support/message_of.h"

namespace weft {
namespace {

using testing_support::message_of;
using Words = std::array<uint32_t, 4>;

// The known answers of Philox4x32-10 published with Random123 (Salmon et al. 2011).
TEST(Rng, KnownAnswers) {
  const Rng zeros{.seed = 0, .stream = 0};
  EXPECT_EQ(zeros.block(0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint64_t ones = ~uint64_t{0};
  EXPECT_EQ((Rng{.seed = ones, .stream = ones}.block(ones)), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // Counter and key from the digits of pi: 243f6a88 85a308d3 13198a2e 03707344, a4093822 299f31d0.
  const Rng pi{.seed = 0x299f31d0a4093822ull, .stream = 0x0370734413198a2eull};
  EXPECT_EQ(pi.block(0x85a308d3243f6a88ull), (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, BitsAreTheWordsOfTheBlocks) {
  const Rng rng{.seed = 7, .stream = 3};
  for (uint64_t i = 0; i < 40; ++i) EXPECT_EQ(rng.bits(i), rng.block(i / 4)[i % 4]);
}

TEST(Rng, UniformFillsTheUnitInterval) {
  const Rng rng{.seed = 1, .stream = 0};
  constexpr int count = 1 << 16;
  double sum = 0;
  double square = 0;
  std::array<int, 16> buckets{};
  for (uint64_t i = 0; i < count; ++i) {
    const float value = rng.uniform(i);
    ASSERT_GE(value, 0.0f);
    ASSERT_LT(value, 1.0f);
    sum += value;
    square += double{value} * value;
    ++buckets[static_cast<size_t>(value * 16)];
  }
  // Five standard errors of a mean of 65536 values: 5 · 0.289 / 256 and 5 · 0.298 / 256.
  EXPECT_NEAR(sum / count, 0.5, 0.0057);
  EXPECT_NEAR(square / count, 1.0 / 3, 0.0059);
  // Five standard deviations of a count of 65536 tries at 1/16: 5 · 62.
  for (int bucket : buckets) EXPECT_NEAR(bucket, count / 16, 310);
}

TEST(Rng, NormalHasTheMomentsOfTheNormal) {
  const Rng rng{.seed = 2, .stream = 0};
  constexpr int count = 1 << 16;
  std::array<double, 4> moments{};
  double neighbours = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const double value = rng.normal(i);
    ASSERT_TRUE(std::isfinite(value));
    double power = 1;
    for (double& moment : moments) moment += (power *= value) / count;
    neighbours += value * rng.normal(i + 1) / count;
  }
  // Five standard errors: the k-th power has variance 1, 2, 15, 96, the product of neighbours 1; divided by 256.
  EXPECT_NEAR(moments[0], 0, 5 * 1.0 / 256);
  EXPECT_NEAR(moments[1], 1, 5 * 1.41 / 256);
  EXPECT_NEAR(moments[2], 0, 5 * 3.87 / 256);
  EXPECT_NEAR(moments[3], 3, 5 * 9.80 / 256);
  EXPECT_NEAR(neighbours, 0, 5 * 1.0 / 256);
}

TEST(Rng, BernoulliKeepsItsProbability) {
  const Rng rng{.seed = 3, .stream = 0};
  constexpr int count = 1 << 16;
  for (double probability : {0.0, 0.1, 0.5, 0.9, 1.0}) {
    int hits = 0;
    for (uint64_t i = 0; i < count; ++i) hits += rng.bernoulli(probability, i) ? 1 : 0;
    // Five standard errors; none at all at 0 and 1.
    EXPECT_NEAR(hits / double{count}, probability, 5 * std::sqrt(probability * (1 - probability)) / 256);
  }
  EXPECT_EQ(message_of([&] { rng.bernoulli(1.5, 0); }), "rng: probability 1.5 is not in [0, 1]");
}

TEST(Rng, BelowReachesEveryValueEvenly) {
  const Rng rng{.seed = 4, .stream = 0};
  std::array<int, 7> hits{};
  for (uint64_t i = 0; i < 70000; ++i) {
    const uint64_t value = rng.below(7, i);
    ASSERT_LT(value, 7u);
    ++hits[value];
  }
  for (int hit : hits) EXPECT_NEAR(hit, 10000, 465);  // five standard deviations: 5 · √(70000 · 1/7 · 6/7)
  EXPECT_EQ(rng.below(1, 5), 0u);
  EXPECT_GT(rng.below(~uint64_t{0}, 0), uint64_t{1} << 32);
  EXPECT_EQ(message_of([&] { rng.below(0, 0); }), "rng: below(0) has no value to draw");
}

TEST(Rng, SplitStreamsAreDifferentAndUncorrelated) {
  const Rng root{.seed = 5, .stream = 0};
  std::set<uint64_t> streams;
  for (uint64_t site = 0; site < 200; ++site) {
    streams.insert(root.split(site).stream);
    for (uint64_t inner = 0; inner < 50; ++inner) streams.insert(root.split(site).split(inner).stream);
  }
  EXPECT_EQ(streams.size(), 200u + 200 * 50);
  EXPECT_EQ(root.split(9).stream, root.split(9).stream);
  EXPECT_NE(root.split(1).split(2).stream, root.split(2).split(1).stream);
  const Rng a = root.split(0);
  const Rng b = root.split(1);
  constexpr int count = 1 << 16;
  double product = 0;
  for (uint64_t i = 0; i < count; ++i) product += double{a.normal(i)} * b.normal(i) / count;
  EXPECT_NEAR(product, 0, 5.0 / 256);  // five standard errors
}

TEST(Rng, SeedsGiveDifferentStreams) {
  int equal = 0;
  for (uint64_t i = 0; i < 1000; ++i) equal += Rng{1, 0}.bits(i) == Rng{2, 0}.bits(i) ? 1 : 0;
  EXPECT_EQ(equal, 0);  // chance of one: 2 in ten million
}

TEST(Rng, PermutationHoldsEveryIndexOnce) {
  for (int64_t count : {0, 1, 2, 100}) {
    std::vector<int64_t> order = Rng{.seed = 6, .stream = 0}.permutation(count);
    std::sort(order.begin(), order.end());
    std::vector<int64_t> expected(static_cast<size_t>(count));
    std::iota(expected.begin(), expected.end(), int64_t{0});
    EXPECT_EQ(order, expected);
  }
}

TEST(Rng, PermutationsOfThreeAreEquallyLikely) {
  std::array<int, 27> hits{};
  for (uint64_t site = 0; site < 6000; ++site) {
    const auto order = Rng{.seed = 8, .stream = 0}.split(site).permutation(3);
    ++hits[static_cast<size_t>(order[0] * 9 + order[1] * 3 + order[2])];
  }
  for (int code : {5, 7, 11, 15, 19, 21}) {
    EXPECT_NEAR(hits[static_cast<size_t>(code)], 1000, 145);  // five standard deviations: 5 · √(6000 · 1/6 · 5/6)
  }
}

TEST(Rng, KeepThresholdIsTheShareKept) {
  EXPECT_EQ(keep_threshold(0.0), 0xffffffffu);
  EXPECT_EQ(keep_threshold(0.5), 0x80000000u);
  EXPECT_EQ(keep_threshold(0.75), 0x40000000u);
  EXPECT_EQ(message_of([] { keep_threshold(1.0); }), "dropout: probability 1 is not in [0, 1)");
  EXPECT_EQ(message_of([] { keep_threshold(-0.5); }), "dropout: probability -0.5 is not in [0, 1)");
}

}  // namespace
}  // namespace weft
