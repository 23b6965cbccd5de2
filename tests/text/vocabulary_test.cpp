#include "weft/text/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.h"

namespace weft::text {
namespace {

using testing::ElementsAre;
using testing_support::message_of;

TEST(Vocabulary, NumbersTokensAndAddsMissingSpecials) {
  const Vocabulary vocabulary({"a", "<EOS>", "b"}, {.bos = "<BOS>", .eos = "<EOS>", .pad = "<PAD>", .unk = "<UNK>"});
  EXPECT_THAT(vocabulary.tokens(), ElementsAre("a", "<EOS>", "b", "<PAD>", "<BOS>", "<UNK>"));
  EXPECT_EQ(vocabulary.special(), (SpecialIds{.bos = 4, .eos = 1, .pad = 3, .unk = 5}));
  EXPECT_EQ(vocabulary.find("b"), 2);
  EXPECT_EQ(vocabulary.find("c"), std::nullopt);
  EXPECT_TRUE(vocabulary.is_skipped(1));
  EXPECT_FALSE(vocabulary.is_skipped(5));
  EXPECT_EQ(vocabulary.shown(0), "a");
  EXPECT_EQ(vocabulary.shown(6), "<UNK>");
  EXPECT_EQ(vocabulary.shown(-1), "<UNK>");
}

TEST(Vocabulary, OneTokenMayHaveTwoRoles) {
  const Vocabulary vocabulary({"a"}, {.bos = "<|end|>", .eos = "<|end|>", .pad = std::nullopt, .unk = std::nullopt});
  EXPECT_EQ(vocabulary.size(), 2);
  EXPECT_EQ(vocabulary.special(), (SpecialIds{.bos = 1, .eos = 1, .pad = {}, .unk = {}}));
  EXPECT_EQ(vocabulary.shown(2), "<UNK>");
}

TEST(Vocabulary, Refusals) {
  EXPECT_EQ(message_of([] { Vocabulary({"a", "b", "a"}, {}); }), "vocabulary: \"a\" stands twice, as 0 and 2");
  EXPECT_EQ(message_of([] { Vocabulary({"a", ""}, {}); }), "vocabulary: token 1 is empty");
  EXPECT_EQ(message_of([] { Vocabulary({"\xff"}, {}); }), "vocabulary: token 0 is not UTF-8");
  EXPECT_EQ(message_of([] { Vocabulary({"a"}, {}).token(1); }), "vocabulary: no token 1, ids run from 0 to 0");
}

}  // namespace
}  // namespace weft::text
