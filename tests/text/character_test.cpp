#include "weft/text/character.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.h"

namespace weft::text {
namespace {

using testing::ElementsAre;
using testing_support::message_of;

TEST(CharacterTokenizer, VocabularyIsTheSortedDistinctCharacters) {
  const auto tokenizer = CharacterTokenizer::train("ba\u00e9b\n\U0001f600");
  EXPECT_EQ(tokenizer.vocab_size(), 5);
  EXPECT_EQ(tokenizer.token(0), "\n");
  EXPECT_EQ(tokenizer.token(3), "\u00e9");
  EXPECT_EQ(tokenizer.token(4), "\U0001f600");
  EXPECT_THAT(tokenizer.encode("\u00e9ab\n"), ElementsAre(3, 1, 2, 0));
  EXPECT_EQ(tokenizer.special(), SpecialIds{});
}

TEST(CharacterTokenizer, EncodeThenDecodeIsTheIdentity) {
  const std::string text = "First Citizen:\nBefore we proceed \u2014 \u00e9\U0001f600";
  const auto tokenizer = CharacterTokenizer::train(text);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  EXPECT_EQ(tokenizer.encode("").size(), 0u);
}

TEST(CharacterTokenizer, UnknownCharactersAreAnErrorOrUnk) {
  const auto strict = CharacterTokenizer::train("abc");
  EXPECT_EQ(
      message_of([&] { strict.encode("ab\u00e9"); }),
      "character tokenizer: '\u00e9' (U+00E9, byte 2) is not among the 3 characters of the vocabulary, and there is no "
      "unknown token");
  const auto lenient = CharacterTokenizer::train("abc", {.bos = {}, .eos = {}, .pad = {}, .unk = "<UNK>"});
  EXPECT_THAT(lenient.encode("a\u00e9\xff"), ElementsAre(0, 3, 3));
  EXPECT_EQ(lenient.decode(lenient.encode("a\u00e9")), "a<UNK>");
}

TEST(CharacterTokenizer, BadBytesAreReplacementCharacters) {
  const auto tokenizer = CharacterTokenizer::train("a\xff\xe2\x82");
  EXPECT_EQ(tokenizer.vocab_size(), 2);
  EXPECT_EQ(tokenizer.token(1), "\ufffd");
  EXPECT_THAT(tokenizer.encode("\xf0\x9f"
                               "a"
                               "\xc3"),
              ElementsAre(1, 0, 1));
}

TEST(CharacterTokenizer, SpecialTokensFollowTheCharactersAndAreNotReadFromText) {
  const auto tokenizer = CharacterTokenizer::train("<EOS>", {.bos = {}, .eos = "<EOS>", .pad = "P", .unk = {}});
  EXPECT_EQ(tokenizer.special(), (SpecialIds{.bos = {}, .eos = 6, .pad = 5, .unk = {}}));
  EXPECT_THAT(tokenizer.encode("<EOS>"), ElementsAre(0, 2, 3, 4, 1));
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{2, 6, 5}), "E<EOS>P");
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{2, 6, 5}, SpecialTokens::skip), "E");
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{2, 7}), "E<UNK>");
}

TEST(CharacterTokenizer, Refusals) {
  EXPECT_EQ(message_of([] {
              CharacterTokenizer({"a", "bc"}, {});
            }),
            "character tokenizer: token 1, \"bc\", is not one character");
}

}  // namespace
}  // namespace weft::text
