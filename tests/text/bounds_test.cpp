// Hostile descriptions and files: what they may cost is bounded, and the message says what was asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.h"
#include "weft/base/files.h"
#include "weft/text/decoders/decoder.h"
#include "weft/text/forms/sentence_piece.h"
#include "weft/text/models/token_model.h"
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
              HasSubstr("truncation leaves 90001 windows of the text, which take"));
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

TEST(Bounds, NamesOfTemplatesAndPaddingAreShort) {
  const std::string page(20'000, 'S');
  const Json piece = {{"SpecialToken", {{"id", "S"}, {"type_id", 0}}}};
  Json element = {{"type", "TemplateProcessing"},
                  {"single", {piece}},
                  {"pair", Json::array()},
                  {"special_tokens", {{"S", {{"id", "S"}, {"ids", {1}}, {"tokens", {page}}}}}}};
  EXPECT_THAT(message_of([&] { with("post_processor", element); }), HasSubstr("tokens: expected at most 16384 bytes"));
  element["special_tokens"]["S"] = {{"id", "S"}, {"ids", std::vector<int>(500, 1)}, {"tokens", Json::array()}};
  for (int i = 0; i < 500; ++i) element["special_tokens"]["S"]["tokens"].push_back("S");
  element["single"] = {piece, piece, piece};
  EXPECT_THAT(message_of([&] { with("post_processor", element); }), HasSubstr("single: expected at most 1024 tokens"));
  EXPECT_THAT(message_of([&] {
                with("post_processor", {{"type", "BertProcessing"}, {"sep", {page, 0}}, {"cls", {"a", 0}}});
              }),
              HasSubstr("sep[0]: expected at most 16384 bytes"));
  Json padding = {{"strategy", {{"Fixed", 1'000'000}}}, {"pad_id", 0}, {"pad_type_id", 0}, {"pad_token", page}};
  EXPECT_THAT(message_of([&] { with("padding", padding); }), HasSubstr("pad_token: expected at most 16384 bytes"));
  padding["pad_token"] = page.substr(0, 6400);
  const PipelineTokenizer padded = with("padding", padding);
  EXPECT_THAT(message_of([&] { padded.encode({"a"}, padded.default_options()); }),
              HasSubstr("adds 999999; at most 41527 are added to a text"));
}

// Windows of one token, each with a thousand special ones.
TEST(Bounds, SpecialTokensOfAllWindowsHaveASize) {
  Json single = Json::array();
  for (int i = 0; i < 1000; ++i) single.push_back({{"SpecialToken", {{"id", "S"}, {"type_id", 0}}}});
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  const PipelineTokenizer tokenizer =
      with("post_processor", {{"type", "TemplateProcessing"},
                              {"single", single},
                              {"pair", Json::array()},
                              {"special_tokens", {{"S", {{"id", "S"}, {"ids", {1}}, {"tokens", {"S"}}}}}}});
  EncodeOptions options;
  options.truncation = Truncation{.max_length = 1001};
  EXPECT_THAT(message_of([&] { tokenizer.encode({std::string(100'000, 'a')}, options); }),
              HasSubstr("truncation leaves 100000 windows of the text, which take"));
  const Encoding few = tokenizer.encode({std::string(10, 'a')}, options);
  ASSERT_EQ(few.overflowing.size(), 9u);
  EXPECT_EQ(few.overflowing[8].size(), 1001u);
  EXPECT_EQ(few.overflowing[8].special_tokens_mask[999], 1);
  EXPECT_EQ(few.overflowing[8].special_tokens_mask[1000], 0);
}

TEST(Bounds, PostProcessorsAreFew) {
  Json list = Json::array();
  for (int i = 0; i < 20; ++i)
    list.push_back({{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}});
  EXPECT_EQ(message_of([&] {
              with("post_processor", {{"type", "Sequence"}, {"processors", list}});
            }),
            "t.json: post_processor: expected at most 16 elements");
}

// A name of 10,000 bytes for each byte of the text.
TEST(Bounds, NamesOfTokensDoNotFillTheMemory) {
  const std::string page(10'000, 'u');
  Json words = Json::parse(R"({"model": {"type": "WordLevel"}, "pre_tokenizer": {"type": "WhitespaceSplit"}})");
  words["model"]["unk_token"] = page;
  words["model"]["vocab"][page] = 0;
  const PipelineTokenizer tokenizer(words, "t.json");
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "z ";
  EXPECT_THAT(message_of([&] { tokenizer.encode({text}, {}); }), HasSubstr("a text of 100000 bytes grows to"));
  EXPECT_EQ(tokenizer.encode({"z z"}, {}).size(), 2u);
  EXPECT_EQ(tokenizer.encode({text}, {.detail = EncodeDetail::ids}).size(), 50'000u);
  EXPECT_THAT(message_of([&] { tokenizer.decode(std::vector<int32_t>(50'000, 0)); }),
              HasSubstr("decode: the names of 50000 tokens have"));
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>(3, 0)).size(), 30'002u);
}

TEST(Bounds, AffixesMultiplyNothing) {
  Json changed = document();
  changed["model"]["continuing_subword_prefix"] = std::string(20'000, 'p');
  EXPECT_THAT(message_of([&] { PipelineTokenizer(changed, "t.json"); }),
              HasSubstr("model.continuing_subword_prefix: expected at most 16384 bytes"));
  changed["model"]["continuing_subword_prefix"] = std::string(10'000, 'p');
  changed["model"]["byte_fallback"] = true;
  for (int i = 0; i < 256; ++i) changed["model"]["vocab"][fmt::format("<0x{:02X}>", i)] = i + 2;
  const PipelineTokenizer tokenizer(changed, "t.json");
  EXPECT_THAT(message_of([&] { tokenizer.encode(std::string(5'000, 'z')); }),
              HasSubstr("a text of 5000 bytes grows to"));
}

TEST(Bounds, AddedTokensHaveASizeTogether) {
  Json changed = document();
  Json list = Json::array();
  for (int i = 0; i < 1'100; ++i) {
    list.push_back({{"id", i}, {"content", std::to_string(i) + std::string(16'000, 'x')}, {"normalized", false}});
  }
  changed["added_tokens"] = list;
  EXPECT_THAT(message_of([&] { PipelineTokenizer(changed, "t.json"); }),
              HasSubstr("t.json: added_tokens: expected at most 16777216 bytes of content"));
  list = Json::array();
  for (int i = 0; i < 1'100; ++i) list.push_back({{"id", i}, {"content", std::to_string(i)}, {"normalized", true}});
  changed["added_tokens"] = list;
  changed["normalizer"] = {{"type", "Prepend"}, {"prepend", std::string(16'000, 'x')}};
  EXPECT_THAT(message_of([&] { PipelineTokenizer(changed, "t.json"); }),
              HasSubstr("t.json: added_tokens: expected at most 16777216 bytes after normalization"));
}

// Each white space is a token that takes the rest of it along, or what is before it: both were looked at again and
// again, which took hours.
TEST(Bounds, WhiteSpaceOfAddedTokensIsLookedAtOnce) {
  Json changed = document();
  const std::string text = std::string(1 << 20, ' ');
  const auto token = [](const char* content, bool left, bool right) {
    return Json{{"id", 2}, {"content", content}, {"normalized", false}, {"lstrip", left}, {"rstrip", right}};
  };
  changed["added_tokens"] = {token(" ", true, false)};
  EXPECT_EQ(PipelineTokenizer(changed, "t.json").encode(text).size(), text.size());
  changed["added_tokens"] = {token("  ", true, false), token("a", true, true)};
  EXPECT_EQ(PipelineTokenizer(changed, "t.json").encode(text + "a" + text).size(), text.size() / 2 + 1);
  changed["added_tokens"] = {token(" ", false, true)};  // the rest over and over, as other tools do
  EXPECT_THAT(message_of([&] { PipelineTokenizer(changed, "t.json").encode(text); }), HasSubstr("grows to"));
}

TEST(Bounds, ManyAddedTokensAreReadQuickly) {
  Json changed = document();
  Json list = Json::array();
  for (int i = 0; i < 100'000; ++i) list.push_back({{"id", i}, {"content", fmt::format("t{}", i)}});
  changed["added_tokens"] = std::move(list);
  const PipelineTokenizer tokenizer(changed, "t.json");  // it took the square of their number
  EXPECT_EQ(tokenizer.vocab_size(), 100'002);
  EXPECT_EQ(tokenizer.encode("t99999").front(), 100'001);
}

TEST(Bounds, TextsHaveATime) {
  TextBudget budget(100, 0.0);
  const uint64_t much = uint64_t{1} << 40;
  EXPECT_TRUE(budget.has_time(1)) << "too little to look at the clock";
  EXPECT_TRUE(budget.has_time(much)) << "the first look";
  EXPECT_FALSE(budget.has_time(much));
  EXPECT_THAT(message_of([&] { budget.take_time(much); }), HasSubstr("a text of 100 bytes takes more than 0 s"));
  TextBudget ordinary(100);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(ordinary.has_time(much)) << "what is noted is not what is measured";
}

// A trie that leads far from every place of a text, merges that drop out again and again.
TEST(Bounds, ModelsWatchTheTime) {
  const std::string word(2'000, 'a');
  const std::string piece(6'000, 'a');
  const Json pieces = Json::array({Json::array({"u", 0.0}), Json::array({"a", -1.0}), Json::array({word, -9.0})});
  const Json unigram = {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", pieces}};
  const Json word_piece = {{"type", "WordPiece"},
                           {"unk_token", "u"},
                           {"continuing_subword_prefix", ""},
                           {"max_input_chars_per_word", 1'000'000},
                           {"vocab", {{"u", 0}, {"a", 1}, {word + "b", 2}}}};
  const Json bpe = {{"type", "BPE"}, {"dropout", 0.99}, {"vocab", {{"a", 0}, {"aa", 1}}}, {"merges", {"a a"}}};
  for (const Json& description : {unigram, word_piece, bpe}) {
    const auto model = make_token_model(JsonView(description, "model"));
    std::vector<PieceToken> tokens;
    TextBudget enough(piece.size());
    model->tokenize(piece, enough, tokens);
    EXPECT_GT(tokens.size(), 0u);
    TextBudget budget(piece.size(), 0.0);
    EXPECT_THAT(message_of([&] { model->tokenize(piece, budget, tokens); }), HasSubstr("takes more than 0 s"))
        << description["type"];
  }
}

TEST(Bounds, SequencesWatchTheTime) {
  const Json description = {{"type", "Sequence"},
                            {"decoders", {{{"type", "ByteFallback"}}, {{"type", "ByteFallback"}}}}};
  const auto decoder = make_decoder(JsonView(description, "decoder"));
  std::vector<std::string> tokens(100'000, "a");
  TextBudget budget(tokens.size(), 0.0);
  EXPECT_THAT(message_of([&] { decoder->decode(tokens, budget); }), HasSubstr("takes more than 0 s"));
}

TEST(Bounds, LiteralsAreNotBooks) {
  Json element = split("a");
  element["pattern"] = {{"String", std::string(100'000, 'a')}};
  EXPECT_THAT(message_of([&] { with("pre_tokenizer", element); }), HasSubstr("pattern.String: expected at most 65536"));
}

TEST(Bounds, MessagesShowTheStartOfWhatIsLong) {
  const std::string pattern = "(" + std::string(10'000, 'a');
  const std::string message = message_of([&] { with("pre_tokenizer", split(pattern.c_str())); });
  EXPECT_THAT(message, HasSubstr("…"));
  EXPECT_LT(message.size(), 400u);
  const PipelineTokenizer words(Json::parse(R"({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "u"}})"),
                                "t.json");
  EXPECT_LT(message_of([&] { words.encode(std::string(10'000, 'b')); }).size(), 200u);
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

// A chain of nodes, each of which ends a key: a, aa, aaa …, all with the same replacement. In blocks of 256 units, of
// which node k is in the k-th at the place of an a; the last may lead back to the first.
std::string chain_map(size_t keys, const std::string& replacement, bool cyclic = false) {
  std::vector<uint32_t> units(256 * (keys + 2), 0xffffffff);
  const auto put = [&](size_t place, size_t base, uint32_t label) {
    units[place] = static_cast<uint32_t>((place ^ base) << 10) | (label > 0 ? 0x100u : 0u) | label;
  };
  put(0, 256, 0);
  for (size_t key = 1; key <= keys; ++key) {
    const size_t base = cyclic && key == keys ? 256 : 256 * (key + 1);
    put(256 * key ^ 'a', base, 'a');
    units[base] = 0x80000000;
  }
  std::string trie;
  for (const uint32_t unit : units) trie += little_endian(unit);
  return map(trie, replacement + std::string(1, '\0'));
}
std::string typed_piece(const std::string& text, char type) {
  return bytes_field(1, bytes_field(1, text) + key(2, 5) + little_endian(0) + key(3, 0) + type);
}
std::string user_pieces(size_t count) {
  std::string bytes;
  for (size_t i = 1; i <= count; ++i) bytes += typed_piece(std::string(i, 'u'), 4);
  return bytes;
}
const std::string mark = "\u2581";

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
    testing::Values(
        BrokenModel{"empty", "", "it has no pieces"},
        BrokenModel{"text", "This is a text, not a model.", "field 10 has the wire type 4"},
        BrokenModel{"cut", bytes_field(1, "abc").substr(0, 3), "3 bytes are to follow, but only 1 do"},
        BrokenModel{"huge_length", "\x0a\xff\xff\xff\xff\x0f", "4294967295 bytes are to follow"},
        BrokenModel{"long_number", "\x0a" + std::string(10, '\xff'), "a number of more than 64 bits"},
        BrokenModel{"empty_piece", piece(""), "piece 0: the piece is empty"},
        BrokenModel{"long_piece", piece("a") + piece(std::string(20'000, 'a')), "piece 1: expected at most 2048 bytes"},
        BrokenModel{"bad_piece", piece("\xff"), "piece 0: the piece is not UTF-8"},
        BrokenModel{"nan", piece("a", 0x7fc00000), "piece 0: the score is not finite"},
        BrokenModel{"number_for_piece", key(1, 0) + "\x01", "field 1 has the wire type 0, expected 2"},
        BrokenModel{"model_type", piece("a") + bytes_field(2, key(3, 0) + "\x09"), "trainer: expected a model type"},
        BrokenModel{"long_surface",
                    piece("a") + bytes_field(2, "\xe2\x02" + bytes_field(1, std::string(65, 's')).substr(1)),
                    "trainer: expected at most 64 bytes to show for the unknown, got 65"},
        BrokenModel{"short_map", piece("a") + bytes_field(3, bytes_field(2, "abc")),
                    "normalizer: character map: expected more than"},
        BrokenModel{"long_trie",
                    piece("a") + bytes_field(3, bytes_field(2,
                                                            "\xff\xff\xff\x7f"
                                                            "abcd")),
                    "normalizer: character map: a trie of 2147483647 bytes does not fit the 4"},
        BrokenModel{"trie_leads_out", piece("a") + map(trie_of(0x7ffffc00), "x"),
                    "normalizer: character map: the trie leads out of its 256 units"},
        BrokenModel{"long_replacement", piece("a") + chain_map(1, std::string(17, 'b')),
                    "normalizer: character map: expected replacements of at most 16 bytes for 1, got 17"},
        BrokenModel{"nested_keys", piece("a") + chain_map(33, "b"),
                    "normalizer: character map: more than 32 keys begin each other"},
        BrokenModel{"cyclic_trie", piece("a") + chain_map(3, "b", true),
                    "normalizer: character map: the trie leads back into itself"},
        BrokenModel{"nested_user_pieces", piece("a") + user_pieces(65),
                    "more than 64 user-defined pieces begin each other"},
        BrokenModel{"no_unknown", piece("a"), ""}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(SentencePieceCheck, TakesAsManyPrefixesAsTheLibrary) {
  const std::string pieces = typed_piece("<unk>", 2) + piece(mark) + piece("b") + piece("a");
  const SentencePieceModel users(pieces + user_pieces(64), "t.model");
  EXPECT_EQ(users.encode(std::string(640, 'u')).size(), 11u) << "ten of 64 and the mark of a blank";
  const SentencePieceModel mapped(pieces + chain_map(32, "b"), "t.model");
  EXPECT_EQ(mapped.encode(std::string(64, 'a')).size(), 3u) << "two, and the mark of a blank";
}

// The library takes the square of the length of what it does not know, hours for a long text.
TEST(SentencePieceCheck, LongTextsAreRehearsed) {
  const SentencePieceModel model(typed_piece("<unk>", 2) + piece(mark) + piece("b"), "t.model");
  const std::string unknown(300'000, 'z');
  EXPECT_THAT(message_of([&] { model.encode(unknown); }),
              HasSubstr("more than 262144 bytes of the text, up to byte 278528, are unknown to the model"));
  EXPECT_THAT(message_of([&] { model.encode_ids(unknown); }), HasSubstr("are unknown to the model"));
  std::string text;
  for (int i = 0; i < 30; ++i) text += unknown.substr(0, 10'000) + "b";
  EXPECT_EQ(model.encode_ids(text).size(), 61u);
}

TEST(SentencePieceCheck, TakesWhatTrainersWrite) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/tests/fixtures/tokenizers/spm-unigram-1k/test_model.model";
  EXPECT_NO_THROW(SentencePieceModel(read_file(path), path));
}

}  // namespace
}  // namespace weft::text
