#include "weft/text/word.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.h"

namespace weft::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::message_of;

// The vocabulary of the notes (E1), of at most 20 words a sentence.
WordTokenizerConfig notes_config() {
  return {.words = {"a", "am", "an", "are", "coding", "I", "in", "is", "lover", "of", "the", "to", "best", "<BOS>",
                    "<EOS>", "<PAD>"},
          .special = {.bos = "<BOS>", .eos = "<EOS>", .pad = "<PAD>", .unk = "<UNK>"},
          .max_length = 20};
}

std::vector<int32_t> ids(std::initializer_list<int32_t> values) { return values; }

TEST(WordTokenizer, TheSamplesOfTheNotes) {
  const WordTokenizer tokenizer(notes_config());
  EXPECT_THAT(tokenizer.encode("I am the lover of coding"), ElementsAre(5, 1, 10, 8, 9, 4));
  EXPECT_EQ(tokenizer.decode(ids({4, 16, 7, 10, 12, 17})), "coding <UNK> is the best <UNK>");
}

TEST(WordTokenizer, UnknownWordsHaveAnIdInsideTheVocabulary) {
  const WordTokenizer tokenizer(notes_config());
  EXPECT_EQ(tokenizer.vocab_size(), 17);
  EXPECT_EQ(tokenizer.special(), (SpecialIds{.bos = 13, .eos = 14, .pad = 15, .unk = 16}));
  EXPECT_THAT(tokenizer.encode("I am here i\xff <EOS>"), ElementsAre(5, 1, 16, 16, 14));
  EXPECT_EQ(tokenizer.token(16), "<UNK>");
}

TEST(WordTokenizer, AnyWhiteSpaceSeparates) {
  const WordTokenizer tokenizer(notes_config());
  EXPECT_THAT(tokenizer.encode("\n I\tam\u00a0the\u3000best  "), ElementsAre(5, 1, 10, 12));
  EXPECT_THAT(tokenizer.encode(""), IsEmpty());
  EXPECT_THAT(tokenizer.encode(" \n"), IsEmpty());
}

TEST(WordTokenizer, MaximumLengthCutsTheEnd) {
  const WordTokenizer tokenizer(notes_config());
  std::string text;
  for (int i = 0; i < 30; ++i) text += "a ";
  EXPECT_EQ(tokenizer.encode(text).size(), 20u);
  WordTokenizerConfig config = notes_config();
  config.max_length = 0;
  EXPECT_EQ(WordTokenizer(config).encode(text).size(), 30u);
}

TEST(WordTokenizer, DecodingSkipsOrShowsSpecialTokens) {
  const WordTokenizer tokenizer(notes_config());
  const std::vector<int32_t> sentence = {13, 5, 1, 16, 14, 15};
  EXPECT_EQ(tokenizer.decode(sentence), "<BOS> I am <UNK> <EOS> <PAD>");
  EXPECT_EQ(tokenizer.decode(sentence, SpecialTokens::skip), "I am <UNK>");
  EXPECT_EQ(tokenizer.decode(ids({-1, 2000000000})), "<UNK> <UNK>");
  EXPECT_EQ(tokenizer.decode({}), "");
}

TEST(WordTokenizer, DecodeThenEncodeIsTheIdentity) {
  const WordTokenizer tokenizer(notes_config());
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    EXPECT_THAT(tokenizer.encode(tokenizer.decode(ids({id, 0}))), ElementsAre(id, 0));
  }
}

TEST(WordTokenizer, NumbersOfTheTasks) {
  const WordTokenizer tokenizer(number_words(100));
  EXPECT_EQ(tokenizer.vocab_size(), 103);
  EXPECT_EQ(tokenizer.special(), (SpecialIds{.bos = 1, .eos = 2, .pad = 0, .unk = {}}));
  EXPECT_THAT(tokenizer.encode("0 40 99"), ElementsAre(3, 43, 102));
  EXPECT_EQ(tokenizer.decode(ids({43, 44, 45, 2}), SpecialTokens::skip), "40 41 42");
  EXPECT_EQ(message_of([&] { tokenizer.encode("1 100"); }),
            "word tokenizer: \"100\" is not among the 103 words of the vocabulary, and there is no unknown token");
}

TEST(WordTokenizer, Refusals) {
  EXPECT_EQ(message_of([] { WordTokenizer({.words = {"a b"}, .special = {}, .max_length = 0}); }),
            "word tokenizer: the word \"a b\" contains white space");
  EXPECT_EQ(message_of([] { WordTokenizer({.words = {"\u3000"}, .special = {}, .max_length = 0}); }),
            "word tokenizer: the word \"\u3000\" contains white space");
  EXPECT_EQ(message_of([] { WordTokenizer({.words = {"a"}, .special = {}, .max_length = -1}); }),
            "word tokenizer: max_length must not be negative, got -1");
  EXPECT_EQ(message_of([] { number_words(-1); }), "number words: expected a count, got -1");
}

}  // namespace
}  // namespace weft::text
