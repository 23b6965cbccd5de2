#include "weft/text/word_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "weft/text/hash.h"

namespace weft::text {
namespace {

// Tokens that only this word has.
std::vector<PieceToken> tokens_of(const std::string& word, uint32_t number) {
  std::vector<PieceToken> tokens;
  for (uint32_t i = 0; i < number % 23; ++i) {
    tokens.push_back({static_cast<int32_t>(number * 31 + i), i, static_cast<uint32_t>(word.size())});
  }
  return tokens;
}

std::string word_of(uint32_t number) {
  return std::string(number % WordCache::longest_piece, 'x') + std::to_string(number);
}

TEST(WordCache, GivesBackWhatWasKeptOrNothing) {
  WordCache cache;
  size_t found = 0;
  for (uint32_t number = 0; number < 100000; ++number) {
    const std::string word = word_of(number);
    if (word.size() > WordCache::longest_piece) continue;
    std::vector<PieceToken> tokens;
    ASSERT_FALSE(cache.find(word, hash_bytes(word), tokens)) << word;
    cache.put(word, hash_bytes(word), tokens_of(word, number));
    const uint32_t earlier = number - number % 64;
    const std::string again = word_of(earlier);
    if (again.size() > WordCache::longest_piece || !cache.find(again, hash_bytes(again), tokens)) continue;
    const std::vector<PieceToken> expected = tokens_of(again, earlier);
    ASSERT_EQ(tokens.size(), expected.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      ASSERT_EQ(tokens[i].id, expected[i].id);
      ASSERT_EQ(tokens[i].begin, expected[i].begin);
      ASSERT_EQ(tokens[i].end, expected[i].end);
    }
    ++found;
  }
  EXPECT_GT(found, 50000u);
}

// Words of equal hash keep two places; the older goes.
TEST(WordCache, ANewWordTakesTheOldestPlace) {
  WordCache cache;
  std::vector<PieceToken> tokens;
  for (const char* word : {"one", "two", "three"}) cache.put(word, 7, {{1, 0, 3}});
  EXPECT_FALSE(cache.find("one", 7, tokens));
  EXPECT_TRUE(cache.find("two", 7, tokens));
  EXPECT_TRUE(cache.find("three", 7, tokens));
}

TEST(WordCachePool, LendsEachCacheToOneThread) {
  WordCachePool pool;
  std::unique_ptr<WordCache> first = pool.take();
  const WordCache* const address = first.get();
  EXPECT_NE(pool.take().get(), address);
  pool.give_back(std::move(first));
  first = pool.take();
  EXPECT_EQ(first.get(), address);
  pool.give_back(std::move(first));
  std::thread([&] { EXPECT_EQ(pool.take().get(), address) << "no thread here holds one, so it may have it"; }).join();
}

}  // namespace
}  // namespace weft::text
