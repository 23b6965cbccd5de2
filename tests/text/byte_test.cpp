#include "weft/text/byte.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/message_of.h"

namespace weft::text {
namespace {

using testing::ElementsAre;
using testing_support::message_of;

TEST(ByteTokenizer, EveryByteIsItsOwnId) {
  const ByteTokenizer tokenizer;
  EXPECT_EQ(tokenizer.vocab_size(), 256);
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::vector<int32_t> ids = tokenizer.encode(all);
  for (int byte = 0; byte < 256; ++byte) EXPECT_EQ(ids[static_cast<size_t>(byte)], byte);
  EXPECT_EQ(tokenizer.decode_bytes(ids, SpecialTokens::keep), all);
}

TEST(ByteTokenizer, DecodedTextIsUtf8) {
  const ByteTokenizer tokenizer;
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("\u20ac!")), "\u20ac!");
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{0xe2, 0x82, 'a'}), "\ufffda");
}

TEST(ByteTokenizer, SpecialTokensFollow) {
  const ByteTokenizer tokenizer({.bos = "<s>", .eos = "</s>", .pad = "<pad>", .unk = {}});
  EXPECT_EQ(tokenizer.vocab_size(), 259);
  EXPECT_EQ(tokenizer.special(), (SpecialIds{.bos = 257, .eos = 258, .pad = 256, .unk = {}}));
  EXPECT_THAT(tokenizer.encode("<s>"), ElementsAre('<', 's', '>'));
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{257, 'a', 258}), "<s>a</s>");
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{257, 'a', 258, 256}, SpecialTokens::skip), "a");
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{'a', 259, -1}), "a<UNK><UNK>");
}

TEST(ByteTokenizer, NamesAreThoseOfByteLevelVocabularies) {
  const ByteTokenizer tokenizer;
  EXPECT_EQ(tokenizer.token('a'), "a");
  EXPECT_EQ(tokenizer.token(0), "\u0100");
  EXPECT_EQ(tokenizer.token(' '), "\u0120");
  EXPECT_EQ(tokenizer.token('\n'), "\u010a");
  EXPECT_EQ(tokenizer.token(0xad), "\u0143");
  EXPECT_EQ(tokenizer.token(0xff), "\u00ff");
  EXPECT_EQ(tokenizer.find("\u0120"), 32);
  std::set<std::string> names;
  for (int32_t id = 0; id < 256; ++id) names.insert(tokenizer.token(id));
  EXPECT_EQ(names.size(), 256u);
}

TEST(ByteTokenizer, Refusals) {
  EXPECT_EQ(message_of([] { ByteTokenizer({.bos = {}, .eos = {}, .pad = {}, .unk = "<UNK>"}); }),
            "byte tokenizer: no byte is unknown; leave out the unknown token \"<UNK>\"");
  EXPECT_EQ(message_of([] { ByteTokenizer({.bos = "a", .eos = {}, .pad = {}, .unk = {}}); }),
            "byte tokenizer: the special token \"a\" is the name of a byte");
}

}  // namespace
}  // namespace weft::text
