// Hostile descriptions and files: what they may cost is bounded, and the message says what was asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.h"
#include "weft/base/files.h"
#include "weft/text/forms/sentence_piece.h"
#include "weft/text/pipeline_tokenizer.h"
#include "weft/text/regex.h"

namespace weft::text {
namespace {

using testing::HasSubstr;
using testing_support::message_of;

Json document() { return Json::parse(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})"); }

PipelineTokenizer with(const char* stage, const Json& element) {
  Json changed = document();
  changed[stage] = element;
  return PipelineTokenizer(std::move(changed), "t.json");
}

Json split(const char* expression) {
  return {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}};
}

Json replace(const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", content}};
}

TEST(Bounds, ManyMatchesThatBacktrackShareABudget) {
  // Each try backtracks over all ways to part 17 a's, which one match may well do.
  std::string text;
  for (int i = 0; i < 4000; ++i) text += std::string(17, 'a') + "b";
  const PipelineTokenizer tokenizer = with("pre_tokenizer", split("(?:a+)+c|b"));
  EXPECT_NO_THROW(tokenizer.encode(text.substr(0, 18 * 4)));
  EXPECT_THAT(message_of([&] { tokenizer.encode(text); }), HasSubstr("the matches of the text take too many steps"));
  // Parts of a text share it, too.
  const PipelineTokenizer parted =
      with("pre_tokenizer",
           {{"type", "Sequence"},
            {"pretokenizers", {{{"type", "CharDelimiterSplit"}, {"delimiter", "b"}}, split("(?:a+)+[cd]")}}});
  EXPECT_THAT(message_of([&] { parted.encode(text); }), HasSubstr("the matches of the text take too many steps"));
}

TEST(Bounds, LongTextsHaveSparseMatches) {
  std::string text(200'000, 'a');
  text[150'000] = 'b';
  const PipelineTokenizer tokenizer = with("pre_tokenizer", split("b"));
  const Encoding encoding = tokenizer.encode({text}, {});
  EXPECT_EQ(encoding.word_ids.back(), 2);
  EXPECT_EQ(encoding.offsets[150'000], (ByteRange{150'000, 150'001}));
}

TEST(Bounds, MatchesFarApartAreFoundBetweenLongCharacters) {
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += "\u20ac";
  text += "b";
  for (int i = 0; i < 5'000; ++i) text += "\U0001f600";
  TextBudget budget(text.size());
  const Regex regex("b|$");
  Regex::Search search(regex, text, budget);
  const auto first = search.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->begin, 15'000u);
  const auto second = search.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->begin, text.size());
  EXPECT_FALSE(search.next());
}

TEST(Bounds, TextsDoNotGrowWithoutEnd) {
  Json list = Json::array();
  for (int i = 0; i < 12; ++i) list.push_back(replace("aaaaaaaaaa"));
  const PipelineTokenizer grows = with("normalizer", {{"type", "Sequence"}, {"normalizers", list}});
  EXPECT_THAT(message_of([&] { grows.encode("a"); }), HasSubstr("a text of 1 bytes grows to"));
  const PipelineTokenizer decodes = with("decoder", {{"type", "Sequence"}, {"decoders", list}});
  const std::vector<int32_t> ids(100, 0);
  EXPECT_THAT(message_of([&] { decodes.decode(ids); }), HasSubstr("bytes grows to"));
  const PipelineTokenizer prepends = with("normalizer", {{"type", "Prepend"}, {"prepend", std::string(1 << 21, 'a')}});
  EXPECT_THAT(message_of([&] { prepends.encode("a"); }), HasSubstr("a text of 1 bytes grows to"));
}

TEST(Bounds, ElementsAreCounted) {
  Json list = Json::array();
  for (int i = 0; i < 1000; ++i) list.push_back({{"type", "NFC"}});
  EXPECT_EQ(message_of([&] {
              with("normalizer", {{"type", "Sequence"}, {"normalizers", list}});
            }),
            "t.json: normalizer: expected at most 500 elements");
}

TEST(Bounds, TokensAreNotPages) {
  Json changed = document();
  changed["model"]["vocab"][std::string(20'000, 'a')] = 2;
  EXPECT_THAT(message_of([&] { PipelineTokenizer(changed, "t.json"); }),
              HasSubstr("at most 16384 bytes, got one of 20000"));
  Json added = document();
  added["added_tokens"] = {{{"id", 2}, {"content", std::string(20'000, 'a')}}};
  EXPECT_THAT(message_of([&] { PipelineTokenizer(added, "t.json"); }),
              HasSubstr("t.json: added_tokens[0].content: expected at most 16384 bytes"));
}

TEST(Bounds, NormalizersDoNotMakePagesOfAddedTokens) {
  Json changed = document();
  changed["added_tokens"] = {{{"id", 2}, {"content", "aa"}, {"normalized", true}}};
  changed["normalizer"] = replace(std::string(10'000, 'a'));
  EXPECT_THAT(message_of([&] { PipelineTokenizer(changed, "t.json"); }),
              HasSubstr("t.json: added_tokens[0]: expected at most 16384 bytes after normalization"));
}

// Nearly each place of the text begins a token of 10,000 bytes, and none ends.
TEST(Bounds, LongAddedTokensAreNotSearchedForWithoutEnd) {
  Json changed = document();
  changed["added_tokens"] = {{{"id", 7}, {"content", std::string(10'000, 'a') + "b"}, {"normalized", false}}};
  const PipelineTokenizer tokenizer(changed, "t.json");
  EXPECT_THAT(message_of([&] { tokenizer.encode({std::string(100'000, 'a')}, {}); }),
              HasSubstr("the text nearly holds long added tokens at too many places"));
  EXPECT_EQ(tokenizer.encode({std::string(10'000, 'a') + "b"}, {}).size(), 1u);
  EXPECT_NO_THROW(tokenizer.encode({std::string(3'000, 'a')}, {}));
}

TEST(Bounds, PaddingAndWindowsHaveASize) {
  const PipelineTokenizer padded = with(
      "padding", {{"strategy", {{"Fixed", 2'000'000'000}}}, {"pad_id", 0}, {"pad_type_id", 0}, {"pad_token", "a"}});
  EXPECT_THAT(message_of([&] { padded.encode({"a"}, padded.default_options()); }),
              HasSubstr("filled up to 1048576 tokens at most, not to 2000000000"));
  const PipelineTokenizer tokenizer(document(), "t.json");
  EncodeOptions options;
  options.truncation = Truncation{.max_length = 10'000, .stride = 9'999};
  const std::string text(100'000, 'a');
  EXPECT_THAT(message_of([&] { tokenizer.encode({text}, options); }),
              HasSubstr("a stride of 9999 makes 90001 windows of 10000 tokens"));
  options.truncation = Truncation{.max_length = 4, .stride = 1};
  options.padding = Padding{.length = 65'536};
  EXPECT_THAT(message_of([&] { tokenizer.encode({std::string(300, 'a')}, options); }),
              HasSubstr("filling 100 windows up to 65536 tokens adds 6553201; at most 4194304 are added to a text"));
  EXPECT_EQ(tokenizer.encode({std::string(90, 'a')}, options).overflowing.size(), 29u);
}

TEST(Bounds, ATemplateTakesATextAFewTimes) {
  Json single = Json::array();
  for (int i = 0; i < 9; ++i) single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  const Json element = {
      {"type", "TemplateProcessing"}, {"single", single}, {"pair", Json::array()}, {"special_tokens", Json::object()}};
  EXPECT_THAT(message_of([&] { with("post_processor", element); }), HasSubstr("single: expected at most 8 texts"));
}

// The number of a field and how its value is written.
std::string key(int number, int wire) { return std::string(1, static_cast<char>(number << 3 | wire)); }
std::string bytes_field(int number, const std::string& content) {
  std::string length;
  for (size_t rest = content.size(); length.empty() || rest > 0; rest >>= 7) {
    length += static_cast<char>((rest & 0x7fu) | (rest >= 0x80 ? 0x80u : 0u));
  }
  return key(number, 2) + length + content;
}
std::string little_endian(uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xffu);
  return bytes;
}
std::string piece(const std::string& text, uint32_t score = 0) {
  return bytes_field(1, bytes_field(1, text) + key(2, 5) + little_endian(score));
}
std::string map(const std::string& trie, const std::string& replacements) {
  return bytes_field(3, bytes_field(2, little_endian(static_cast<uint32_t>(trie.size())) + trie + replacements));
}
// A double array whose units are all empty but for the first.
std::string trie_of(uint32_t first) { return little_endian(first) + std::string(255 * 4, '\xff'); }

struct BrokenModel {
  const char* name;
  std::string bytes;
  const char* message;
};

class BrokenSentencePieceModel : public testing::TestWithParam<BrokenModel> {};

TEST_P(BrokenSentencePieceModel, IsRefused) {
  EXPECT_THAT(message_of([] { SentencePieceModel(GetParam().bytes, "t.model"); }),
              HasSubstr(std::string("t.model: not a SentencePiece model: ") + GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Table, BrokenSentencePieceModel,
    testing::Values(BrokenModel{"empty", "", "it has no pieces"},
                    BrokenModel{"text", "This is a text, not a model.", "field 10 has the wire type 4"},
                    BrokenModel{"cut", bytes_field(1, "abc").substr(0, 3), "3 bytes are to follow, but only 1 do"},
                    BrokenModel{"huge_length", "\x0a\xff\xff\xff\xff\x0f", "4294967295 bytes are to follow"},
                    BrokenModel{"long_number", "\x0a" + std::string(10, '\xff'), "a number of more than 64 bits"},
                    BrokenModel{"empty_piece", piece(""), "piece 0: the piece is empty"},
                    BrokenModel{"long_piece", piece("a") + piece(std::string(20'000, 'a')),
                                "piece 1: expected at most 16384 bytes"},
                    BrokenModel{"bad_piece", piece("\xff"), "piece 0: the piece is not UTF-8"},
                    BrokenModel{"nan", piece("a", 0x7fc00000), "piece 0: the score is not finite"},
                    BrokenModel{"number_for_piece", key(1, 0) + "\x01", "field 1 has the wire type 0, expected 2"},
                    BrokenModel{"model_type", piece("a") + bytes_field(2, key(3, 0) + "\x09"),
                                "trainer: expected a model type"},
                    BrokenModel{"short_map", piece("a") + bytes_field(3, bytes_field(2, "abc")),
                                "normalizer: character map: expected more than"},
                    BrokenModel{"long_trie",
                                piece("a") + bytes_field(3, bytes_field(2,
                                                                        "\xff\xff\xff\x7f"
                                                                        "abcd")),
                                "normalizer: character map: a trie of 2147483647 bytes does not fit the 4"},
                    BrokenModel{"trie_leads_out", piece("a") + map(trie_of(0x7ffffc00), "x"),
                                "normalizer: character map: the trie leads out of its 256 units"},
                    BrokenModel{"no_unknown", piece("a"), ""}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(SentencePieceCheck, TakesWhatTrainersWrite) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/tests/fixtures/tokenizers/spm-unigram-1k/test_model.model";
  EXPECT_NO_THROW(SentencePieceModel(read_file(path), path));
}

}  // namespace
}  // namespace weft::text
