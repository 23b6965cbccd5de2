#include "weft/text/training/unigram_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/message_of.h"
#include "weft/base/threads.h"
#include "weft/text/training/unigram_seeds.h"

namespace weft::text {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> sorted_texts(const std::vector<Substring>& substrings) {
  std::vector<std::string> texts;
  for (const Substring& each : substrings) texts.push_back(each.text + " " + std::to_string(each.count));
  std::ranges::sort(texts);
  return texts;
}

TEST(UnigramSeeds, AreTheSubstringsThatGoOnInSeveralWays) {
  // "th" and "t" always go on as "the" but for "tho"; "he" is followed by the end and by "m".
  const std::vector<WordCount> words = {{"the", 2}, {"them", 1}, {"tho", 1}};
  EXPECT_THAT(sorted_texts(frequent_substrings(words, 16, 100)), ::testing::ElementsAre("he 3", "th 4", "the 3"));
  EXPECT_THAT(sorted_texts(frequent_substrings(words, 2, 100)), ::testing::ElementsAre("he 3", "th 4"));
  EXPECT_THAT(sorted_texts(frequent_substrings(words, 16, 1)), ::testing::ElementsAre("the 3"));
}

TEST(UnigramSeeds, CountRepeatedAndMultiByteCharacters) {
  EXPECT_THAT(sorted_texts(frequent_substrings(std::vector<WordCount>{{"ééé", 1}}, 16, 100)),
              ::testing::ElementsAre("éé 2"));
  EXPECT_THAT(frequent_substrings({}, 16, 100), IsEmpty());
}

TEST(UnigramLattice, WeighsAllWaysToCutAWord) {
  const std::vector<UnigramPiece> pieces = {{"a", std::log(0.5)}, {"b", std::log(0.3)}, {"ab", std::log(0.2)}};
  ByteTrie trie;
  for (size_t i = 0; i < pieces.size(); ++i) trie.add(pieces[i].text, static_cast<int32_t>(i));
  UnigramLattice lattice(trie, pieces);
  lattice.set_word("ab");
  std::vector<double> expected(3, 0.0);
  // a·b has 0.15, ab has 0.2. The tolerance is a few roundings of doubles near 1.
  EXPECT_NEAR(lattice.add_expected(7.0, expected), std::log(0.35), 1e-14);
  EXPECT_NEAR(expected[0], 7.0 * 0.15 / 0.35, 1e-13);
  EXPECT_NEAR(expected[1], 7.0 * 0.15 / 0.35, 1e-13);
  EXPECT_NEAR(expected[2], 7.0 * 0.2 / 0.35, 1e-13);
  EXPECT_THAT(lattice.best(), ::testing::ElementsAre(2));
  EXPECT_THAT(lattice.best(2), ::testing::ElementsAre(1, 0));
}

std::vector<std::string> texts_of(const std::vector<UnigramPiece>& pieces) {
  std::vector<std::string> texts;
  for (const UnigramPiece& piece : pieces) texts.push_back(piece.text);
  return texts;
}

std::vector<WordCount> sample_words() {
  std::vector<WordCount> words;
  for (const char* stem : {"walk", "talk", "jump", "play", "look", "work"}) {
    for (const char* ending : {"", "s", "ed", "ing", "er"}) words.push_back({std::string(stem) + ending, 10});
  }
  return words;
}

TEST(UnigramTrainer, FindsStems) {
  const std::vector<UnigramPiece> pieces =
      train_unigram(sample_words(), {.vocab_size = 28, .special_tokens = {"<unk>"}});
  EXPECT_EQ(pieces[0].text, "<unk>");
  EXPECT_EQ(pieces[0].score, 0.0);
  for (const char* text : {"talk", "jump", "play", "k"}) {
    EXPECT_THAT(texts_of(pieces), Contains(text));
  }
  for (size_t i = 2; i < pieces.size(); ++i) EXPECT_LE(pieces[i].score, pieces[i - 1].score);
  EXPECT_LE(pieces.size(), 28u);
}

TEST(UnigramTrainer, DoesNotDependOnThreads) {
  const int threads = thread_count();
  std::vector<std::vector<UnigramPiece>> results;
  for (const int count : {1, 3}) {
    set_thread_count(count);
    results.push_back(train_unigram(sample_words(), {.vocab_size = 40}));
  }
  set_thread_count(threads);
  ASSERT_EQ(results[0].size(), results[1].size());
  for (size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_EQ(results[0][i].text, results[1][i].text);
    EXPECT_EQ(results[0][i].score, results[1][i].score);
  }
}

TEST(UnigramTrainer, KeepsEveryCharacterWhateverTheSize) {
  EXPECT_EQ(train_unigram(std::vector<WordCount>{{"abc", 5}}, {.vocab_size = 1}).size(), 3u);
  UnigramTrainerConfig limited{.vocab_size = 1};
  limited.alphabet.limit = 2;
  EXPECT_EQ(train_unigram(std::vector<WordCount>{{"aabbc", 5}}, limited).size(), 2u);
}

TEST(UnigramTrainer, RefusesSettingsOutOfRange) {
  const auto message = [](const UnigramTrainerConfig& config) {
    return testing_support::message_of([&] { train_unigram({}, config); });
  };
  EXPECT_THAT(message({.vocab_size = 0}), HasSubstr("vocab_size must be at least 1"));
  EXPECT_THAT(message({.shrinking_factor = 1.0}), HasSubstr("shrinking_factor must lie between 0 and 1"));
  EXPECT_THAT(message({.rounds = 0}), HasSubstr("rounds must be at least 1"));
}

}  // namespace
}  // namespace weft::text
