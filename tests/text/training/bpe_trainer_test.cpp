#include "weft/text/training/bpe_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/message_of.h"
#include "weft/base/files.h"
#include "weft/text/pre_tokenizers/pre_tokenizer.h"
#include "weft/text/training/word_counter.h"

namespace weft::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> merges_of(const TrainedBpe& trained) {
  std::vector<std::string> merges;
  for (const auto& [left, right] : trained.merges) {
    merges.push_back(trained.tokens[static_cast<size_t>(left)] + " " + trained.tokens[static_cast<size_t>(right)]);
  }
  return merges;
}

TEST(BpeTrainer, MergesTheMostFrequentPairFirst) {
  const std::vector<WordCount> words = {{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}};
  // Sennrich et al. 2016, algorithm 1, without the mark of a word's end. es and st occur 9 times: e has the smaller id.
  const TrainedBpe trained = train_bpe(words, {.vocab_size = 10 + 4});
  EXPECT_THAT(merges_of(trained), ElementsAre("e s", "es t", "l o", "lo w"));
  EXPECT_THAT(std::vector(trained.tokens.begin() + 10, trained.tokens.end()), ElementsAre("es", "est", "lo", "low"));
}

TEST(BpeTrainer, BreaksTiesByTheSmallerIds) {
  // Four pairs, all twice: (a, c), (a, d), (b, a), (b, c).
  const std::vector<WordCount> words = {{"ac", 2}, {"ad", 2}, {"ba", 2}, {"bc", 2}};
  EXPECT_THAT(merges_of(train_bpe(words, {.vocab_size = 8})), ElementsAre("a c", "a d", "b a", "b c"));
  // A special token that is a character has the first id, and its pairs come first.
  const TrainedBpe trained = train_bpe(words, {.vocab_size = 8, .special_tokens = {"b"}});
  EXPECT_THAT(merges_of(trained), ElementsAre("b a", "b c", "a c", "a d"));
}

TEST(BpeTrainer, CountsOverlappingPairsAnew) {
  // aaaa has three pairs (a, a), which one pass makes two tokens aa.
  EXPECT_THAT(merges_of(train_bpe(std::vector<WordCount>{{"aaaa", 3}}, {.vocab_size = 3})),
              ElementsAre("a a", "aa aa"));
}

TEST(BpeTrainer, StopsBelowTheMinimumFrequency) {
  const std::vector<WordCount> words = {{"ab", 5}, {"cd", 4}};
  EXPECT_THAT(merges_of(train_bpe(words, {.vocab_size = 100, .min_frequency = 5})), ElementsAre("a b"));
}

TEST(BpeTrainer, LeavesTokensOfTheMaximumLengthApart) {
  const std::vector<WordCount> words = {{"abcd", 5}};
  BpeTrainerConfig config{.vocab_size = 100};
  EXPECT_THAT(merges_of(train_bpe(words, config)), ElementsAre("a b", "c d", "ab cd"));
  config.max_token_length = 4;
  EXPECT_THAT(merges_of(train_bpe(words, config)), ElementsAre("a b", "c d"));
}

TEST(BpeTrainer, MarksTokensInsideAndAtTheEndOfWords) {
  BpeTrainerConfig config{.vocab_size = 100, .continuing_subword_prefix = "##"};
  const TrainedBpe inside = train_bpe(std::vector<WordCount>{{"abab", 2}}, config);
  EXPECT_THAT(inside.tokens, ElementsAre("a", "b", "##a", "##b", "ab", "##ab", "abab"));
  config = {.vocab_size = 100, .end_of_word_suffix = "</w>"};
  EXPECT_THAT(train_bpe(std::vector<WordCount>{{"ab", 2}}, config).tokens, ElementsAre("a", "b", "b</w>", "ab</w>"));
}

TEST(BpeTrainer, KeepsTheMostFrequentCharacters) {
  BpeTrainerConfig config{.vocab_size = 1};
  config.alphabet.limit = 2;
  EXPECT_THAT(train_bpe(std::vector<WordCount>{{"abbccc", 1}}, config).tokens, ElementsAre("b", "c"));
  config.alphabet.initial = {U'z'};
  EXPECT_THAT(train_bpe(std::vector<WordCount>{{"abbccc", 1}}, config).tokens, ElementsAre("c", "z"));
}

TEST(BpeTrainer, RefusesAnEmptyVocabulary) {
  EXPECT_THAT(testing_support::message_of([] { train_bpe({}, {.vocab_size = 0}); }),
              HasSubstr("vocab_size must be at least 1, got 0"));
}

// The reference's merges, made by scripts/bpe_training_golden.py.
TEST(BpeTrainer, LearnsTheMergesOfTheReferenceOnTinyShakespeare) {
  const Json description = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  const std::unique_ptr<PreTokenizer> pre_tokenizer = make_pre_tokenizer(JsonView(description, "test"));
  WordCounter counter([&](std::string_view line, FunctionRef<void(std::string_view)> emit) {
    Pieces pieces;
    pieces.text = AlignedText(line, Tracking::off);
    pieces.list.push_back({0, line.size()});
    pre_tokenizer->split(pieces);
    for (const Piece& piece : pieces.list) emit(pieces.view(piece));
  });
  counter.add_file(WEFT_SOURCE_DIR "/data/tinyshakespeare.txt");
  const TrainedBpe trained = train_bpe(counter.finish(), {.vocab_size = 8000});
  std::istringstream golden(read_file(WEFT_SOURCE_DIR "/tests/text/training/shakespeare-merges.txt"));
  std::vector<std::string> expected;
  for (std::string line; std::getline(golden, line);) expected.push_back(line);
  EXPECT_EQ(merges_of(trained), expected);
  EXPECT_EQ(trained.tokens.size(), 8000u);
}

}  // namespace
}  // namespace weft::text
