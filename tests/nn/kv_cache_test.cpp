#include "weft/nn/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "weft/base/error.h"

namespace weft::nn {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(KvCache, KnowsItsBounds) {
  KvCache cache(2, 2, 4, 6, DType::f32);
  const std::array<int64_t, 2> counts = {3, 1};
  cache.advance(counts);
  EXPECT_EQ(cache.length(0), 3);
  EXPECT_THAT([&] { cache.advance(counts); },
              ThrowsMessage<Error>(HasSubstr("sequence 0 has room for 4 tokens, not for 6")));
  cache.truncate(0, 1);
  EXPECT_EQ(cache.length(0), 1);
  EXPECT_THAT([&] { cache.truncate(1, 2); }, ThrowsMessage<Error>(HasSubstr("cannot be cut to 2 tokens")));
  EXPECT_THAT([] { KvCache(1, 1, 0, 1, DType::f32); }, ThrowsMessage<Error>(HasSubstr("are positive")));
}

// States hold one number each here: the sum of what a sequence has been given.
TEST(KvCache, StatesFollowTheirSequences) {
  KvCache cache = KvCache::of_states(2, 3, 8, 1);
  ASSERT_TRUE(cache.holds_states());
  const auto give = [&](std::initializer_list<float> values) {
    int64_t i = 0;
    for (const float value : values) {
      for (int64_t layer = 0; layer < 2; ++layer) cache.layer(layer).states.data<float>()[cache.slot(i)] += value;
      ++i;
    }
    cache.advance(std::vector<int64_t>(values.size(), 1));
  };
  const auto sums = [&] {
    std::vector<float> values;
    for (int64_t i = 0; i < cache.batch(); ++i) values.push_back(cache.layer(1).states.data<float>()[cache.slot(i)]);
    return values;
  };
  give({1, 2, 3});
  EXPECT_EQ(sums(), (std::vector<float>{1, 2, 3}));
  cache.reorder(std::array<int64_t, 3>{2, 0, 1});  // another order copies nothing
  EXPECT_EQ(cache.rows_copied(), 0);
  EXPECT_EQ(sums(), (std::vector<float>{3, 1, 2}));
  cache.reorder(std::array<int64_t, 3>{0, 0, 2});
  EXPECT_EQ(cache.rows_copied(), 1);
  give({10, 20, 30});
  EXPECT_EQ(sums(), (std::vector<float>{13, 23, 32}));
  EXPECT_EQ(cache.length(1), 2);
  cache.truncate(1, 2);  // nothing to forget
  EXPECT_THAT([&] { cache.truncate(1, 1); }, ThrowsMessage<Error>(HasSubstr("it cannot be cut from 2 to 1 tokens")));
  cache.truncate(1, 0);
  EXPECT_EQ(sums(), (std::vector<float>{13, 0, 32}));
  EXPECT_EQ(cache.length(1), 0);
  EXPECT_THAT([] { KvCache::of_states(1, 1, 8, 0); }, ThrowsMessage<Error>(HasSubstr("are positive")));
}

// A cache of one layer whose rows hold one number each; what a sequence holds is read back as a list.
class Notes {
 public:
  explicit Notes(int64_t slots) : cache(1, slots, 8, 1, DType::f32) {}

  void write(std::initializer_list<float> next) {
    ASSERT_EQ(static_cast<int64_t>(next.size()), cache.batch());
    int64_t i = 0;
    for (const float value : next) {
      for (Tensor* rows : {&cache.layer(0).keys, &cache.layer(0).values}) {
        rows->data<float>()[cache.first_row(i) + cache.length(i)] = value;
      }
      ++i;
    }
    cache.advance(std::vector<int64_t>(next.size(), 1));
  }

  std::vector<float> read(int64_t sequence) {
    const float* keys = cache.layer(0).keys.data<float>() + cache.first_row(sequence);
    const float* values = cache.layer(0).values.data<float>() + cache.first_row(sequence);
    EXPECT_TRUE(std::equal(keys, keys + cache.length(sequence), values));
    return {keys, keys + cache.length(sequence)};
  }

  void reorder(std::initializer_list<int64_t> sources) { cache.reorder({sources.begin(), sources.size()}); }

  KvCache cache;
};

using List = std::vector<float>;

TEST(KvCache, AnotherOrderAndFewerSequencesCopyNothing) {
  Notes notes(3);
  notes.write({1, 2, 3});
  notes.reorder({2, 0, 1});
  notes.write({4, 5, 6});
  notes.reorder({1, 2});
  EXPECT_EQ(notes.read(0), (List{1, 5}));
  EXPECT_EQ(notes.read(1), (List{2, 6}));
  EXPECT_EQ(notes.cache.rows_copied(), 0);
}

TEST(KvCache, ASequenceThatBecomesSeveralIsCopiedOnce) {
  Notes notes(4);
  notes.reorder({0, 1});
  notes.write({1, 2});
  notes.write({3, 4});
  notes.reorder({0, 0, 1, 0});
  EXPECT_EQ(notes.read(0), (List{1, 3}));
  EXPECT_EQ(notes.read(1), (List{1, 3}));
  EXPECT_EQ(notes.read(2), (List{2, 4}));
  EXPECT_EQ(notes.read(3), (List{1, 3}));
  EXPECT_EQ(notes.cache.rows_copied(), 4);
}

TEST(KvCache, BeamsThatPartCopyTheRowsInWhichTheyDiffer) {
  Notes notes(2);
  notes.reorder({0});
  notes.write({1});
  notes.write({2});
  notes.reorder({0, 0});  // 2 rows
  notes.write({3, 4});
  notes.write({5, 6});
  EXPECT_EQ(notes.cache.rows_copied(), 2);
  notes.reorder({1, 1});  // 4 and 6 over 3 and 5: 2 rows
  EXPECT_EQ(notes.cache.rows_copied(), 4);
  EXPECT_EQ(notes.read(0), (List{1, 2, 4, 6}));
  EXPECT_EQ(notes.read(1), (List{1, 2, 4, 6}));
  notes.write({7, 8});
  notes.reorder({1, 0});
  EXPECT_EQ(notes.read(0), (List{1, 2, 4, 6, 8}));
  EXPECT_EQ(notes.read(1), (List{1, 2, 4, 6, 7}));
  EXPECT_EQ(notes.cache.rows_copied(), 4);
}

TEST(KvCache, TakesTheFreePlaceThatHasMostOfTheSequence) {
  Notes notes(3);
  notes.reorder({0, 1});
  notes.write({1, 9});
  notes.write({2, 9});
  notes.reorder({0, 0, 1});
  notes.write({3, 4, 9});
  EXPECT_EQ(notes.cache.rows_copied(), 2);
  notes.reorder({1, 1});  // the place of [1, 2, 3], not that of [9, 9, 9]: 1 row
  EXPECT_EQ(notes.read(0), (List{1, 2, 4}));
  EXPECT_EQ(notes.read(1), (List{1, 2, 4}));
  EXPECT_EQ(notes.cache.rows_copied(), 3);
}

TEST(KvCache, WhatWasCutAndWrittenAnewIsNotTakenForShared) {
  Notes notes(2);
  notes.reorder({0});
  notes.write({1});
  notes.write({2});
  notes.reorder({0, 0});
  notes.cache.truncate(1, 1);
  notes.cache.advance(std::array<int64_t, 2>{0, 0});
  notes.write({3, 4});
  notes.reorder({0, 0});
  EXPECT_EQ(notes.read(1), (List{1, 2, 3}));
}

TEST(KvCache, RefusesAnOrderThatItCannotTake) {
  KvCache cache(1, 2, 4, 1, DType::f32);
  EXPECT_THAT(
      [&] {
        cache.reorder(std::array<int64_t, 3>{0, 0, 1});
      },
      ThrowsMessage<Error>(HasSubstr("reordered to 3 sequences, there is room for 1 to 2")));
  EXPECT_THAT([&] { cache.reorder(std::array<int64_t, 1>{2}); },
              ThrowsMessage<Error>(HasSubstr("sequence 0 goes on from sequence 2, there are 2")));
}

}  // namespace
}  // namespace weft::nn
