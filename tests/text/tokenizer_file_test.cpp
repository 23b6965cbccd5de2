#include "weft/text/tokenizer_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"
#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/base/json.h"
#include "weft/base/rng.h"
#include "weft/text/byte.h"
#include "weft/text/character.h"
#include "weft/text/word.h"

namespace weft::text {
namespace {

using testing_support::message_of;
using testing_support::TemporaryFolder;
using testing_support::write_unsynced;

const SpecialNames all_roles = {.bos = "<BOS>", .eos = "<EOS>", .pad = "<PAD>", .unk = "<UNK>"};

WordTokenizer words() {
  return WordTokenizer({.words = {"I", "am", "<EOS>", "h\u00e9re"}, .special = all_roles, .max_length = 3});
}

void expect_same(const Tokenizer& actual, const Tokenizer& expected, std::string_view text) {
  ASSERT_EQ(actual.vocab_size(), expected.vocab_size());
  for (int32_t id = 0; id < expected.vocab_size(); ++id) EXPECT_EQ(actual.token(id), expected.token(id));
  EXPECT_EQ(actual.special(), expected.special());
  EXPECT_EQ(actual.encode(text), expected.encode(text));
  EXPECT_EQ(actual.decode(expected.encode(text)), expected.decode(expected.encode(text)));
}

void expect_round_trip(const Tokenizer& tokenizer, std::string_view text) {
  const TemporaryFolder folder;
  save_tokenizer(tokenizer, folder.path());
  EXPECT_EQ(folder.count(), 2u);
  expect_same(*load_tokenizer(folder.path()), tokenizer, text);
  expect_same(*load_tokenizer(folder / "tokenizer.json"), tokenizer, text);
}

TEST(TokenizerFile, RoundTrips) {
  expect_round_trip(words(), "I am h\u00e9re now I am");
  expect_round_trip(WordTokenizer(number_words(100)), "0 40 99");
  expect_round_trip(CharacterTokenizer::train("to be,\n\u00e9 \"\\"), "be \"\\\n\u00e9");
  expect_round_trip(CharacterTokenizer::train("abc", all_roles), "a<EOS>\xff");
  expect_round_trip(CharacterTokenizer::train("abc", {.bos = {}, .eos = "e", .pad = {}, .unk = {}}), "abc");
  expect_round_trip(ByteTokenizer(), "any\xff\n\u00e9 bytes");
  expect_round_trip(ByteTokenizer({.bos = "<s>", .eos = "<s>", .pad = "<pad>", .unk = {}}), "<s>");
}

TEST(TokenizerFile, WordsAreWordLevelWithWhitespaceSplit) {
  const TemporaryFolder folder;
  save_tokenizer(words(), folder.path());
  const Json document = parse_json(read_file(folder / "tokenizer.json"), "tokenizer.json");
  EXPECT_EQ(document["pre_tokenizer"]["type"], "WhitespaceSplit");
  EXPECT_EQ(document["model"]["type"], "WordLevel");
  EXPECT_EQ(document["model"]["unk_token"], "<UNK>");
  EXPECT_EQ(document["model"]["vocab"]["am"], 1);
  EXPECT_EQ(document["truncation"]["max_length"], 3);
  EXPECT_EQ(document["added_tokens"].size(), 4u);
  const Json config = parse_json(read_file(folder / "tokenizer_config.json"), "tokenizer_config.json");
  EXPECT_EQ(config["eos_token"], "<EOS>");
}

TEST(TokenizerFile, WithoutConfigOnlyUnkHasARole) {
  const TemporaryFolder folder;
  save_tokenizer(words(), folder.path());
  std::filesystem::remove(folder / "tokenizer_config.json");
  EXPECT_EQ(load_tokenizer(folder.path())->special(), (SpecialIds{.bos = {}, .eos = {}, .pad = {}, .unk = 6}));
}

TEST(TokenizerFile, RolesMayBeObjects) {
  const TemporaryFolder folder;
  save_tokenizer(words(), folder.path());
  write_file_atomically(
      folder / "tokenizer_config.json",
      R"({"eos_token": {"__type": "AddedToken", "content": "<EOS>"}, "pad_token": null, "other": 1})");
  EXPECT_EQ(load_tokenizer(folder.path())->special(), (SpecialIds{.bos = {}, .eos = 2, .pad = {}, .unk = 6}));
}

class Unsaved final : public Tokenizer {
 public:
  std::vector<int32_t> encode(std::string_view) const override { return {}; }
  std::string decode_bytes(std::span<const int32_t>, SpecialTokens) const override { return ""; }
  int32_t vocab_size() const override { return 0; }
  std::string token(int32_t) const override { return ""; }
  std::optional<int32_t> find(std::string_view) const override { return std::nullopt; }
  const SpecialIds& special() const override { return special_; }

 private:
  SpecialIds special_;
};

TEST(TokenizerFile, OtherTokenizersAreRefused) {
  const TemporaryFolder folder;
  EXPECT_EQ(message_of([&] { save_tokenizer(Unsaved(), folder.path()); }),
            "save tokenizer: not one of the pipeline, word, character and byte tokenizers");
  EXPECT_EQ(folder.count(), 0u);
}

enum class Kind { words, characters, bytes };

std::unique_ptr<Tokenizer> sample(Kind kind) {
  if (kind == Kind::words) return std::make_unique<WordTokenizer>(words());
  if (kind == Kind::characters)
    return std::make_unique<CharacterTokenizer>(CharacterTokenizer::train("abc", all_roles));
  return std::make_unique<ByteTokenizer>(SpecialNames{.bos = {}, .eos = "<EOS>", .pad = {}, .unk = {}});
}

// A good file with the value at `pointer` (RFC 6901) replaced by `value`; removed where `value` is empty.
struct BrokenTokenizer {
  const char* name;
  Kind kind;
  const char* pointer;
  const char* value;
  std::string message;  // after the path of tokenizer.json and ": "
};

class BrokenTokenizerFile : public testing::TestWithParam<BrokenTokenizer> {};

TEST_P(BrokenTokenizerFile, IsRefused) {
  const BrokenTokenizer& c = GetParam();
  const TemporaryFolder folder;
  save_tokenizer(*sample(c.kind), folder.path());
  const std::string path = (folder / "tokenizer.json").string();
  Json document = parse_json(read_file(path), path);
  const Json::json_pointer pointer(c.pointer);
  if (*c.value == '\0') {
    document[pointer.parent_pointer()].erase(pointer.back());
  } else {
    document[pointer] = Json::parse(c.value);
  }
  write_file_atomically(path, format_json(document));
  EXPECT_EQ(message_of([&] { load_tokenizer(folder.path()); }), path + ": " + c.message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BrokenTokenizerFile,
    testing::Values(
        BrokenTokenizer{"not_an_object", Kind::words, "", "[1]", "expected an object, got an array"},
        BrokenTokenizer{"unknown_part", Kind::words, "/decoders", "1",
                        "unknown key \"decoders\"; did you mean \"decoder\"?"},
        BrokenTokenizer{"no_version", Kind::words, "/version", "", "\"version\" is missing"},
        BrokenTokenizer{"other_version", Kind::words, "/version", "\"2.0\"", "version: expected \"1.0\", got \"2.0\""},
        BrokenTokenizer{"no_model", Kind::words, "/model", "", "\"model\" is missing"},
        BrokenTokenizer{"model_text", Kind::words, "/model", "\"x\"", "model: expected an object, got \"x\""},
        BrokenTokenizer{"other_model", Kind::words, "/model/type", "\"Unigram\"",
                        "model.type: expected WordLevel or BPE, got \"Unigram\""},
        BrokenTokenizer{"model_field", Kind::words, "/model/dropout", "0.1",
                        "model: unknown key \"dropout\"; known: type, vocab, unk_token"},
        BrokenTokenizer{"normalizer", Kind::words, "/normalizer", R"({"type":"Lowercase"})",
                        "normalizer: expected null with this model type, got an object"},
        BrokenTokenizer{"post_processor", Kind::words, "/post_processor", R"({"type":"ByteLevel"})",
                        "post_processor: expected null with this model type, got an object"},
        BrokenTokenizer{"padding", Kind::words, "/padding", "{}",
                        "padding: expected null with this model type, got an object"},
        BrokenTokenizer{"no_pre_tokenizer", Kind::words, "/pre_tokenizer", "", "\"pre_tokenizer\" is missing"},
        BrokenTokenizer{"pre_tokenizer_null", Kind::words, "/pre_tokenizer", "null",
                        "pre_tokenizer: expected an object, got null"},
        BrokenTokenizer{"other_pre_tokenizer", Kind::words, "/pre_tokenizer/type", "\"Whitespace\"",
                        "pre_tokenizer: expected WhitespaceSplit, or Split that isolates every character"},
        BrokenTokenizer{"word_decoder", Kind::words, "/decoder", R"({"type":"Fuse"})",
                        "decoder: expected null with this model type, got an object"},
        BrokenTokenizer{"vocab_array", Kind::words, "/model/vocab", "[]",
                        "model.vocab: expected an object, got an array"},
        BrokenTokenizer{"id_text", Kind::words, "/model/vocab/am", "\"1\"",
                        "model.vocab.am: expected a whole number, got \"1\""},
        BrokenTokenizer{"id_negative", Kind::words, "/model/vocab/am", "-1",
                        "model.vocab.am: expected an id below 7 that no other token has, got -1"},
        BrokenTokenizer{"id_hole", Kind::words, "/model/vocab/am", "4000000000",
                        "model.vocab.am: expected an id below 7 that no other token has, got 4000000000"},
        BrokenTokenizer{"id_twice", Kind::words, "/model/vocab/am", "0",
                        "model.vocab.am: expected an id below 7 that no other token has, got 0"},
        BrokenTokenizer{"word_with_space", Kind::words, "/model/vocab/x y", "7",
                        "word tokenizer: the word \"x y\" contains white space"},
        BrokenTokenizer{"empty_word", Kind::words, "/model/vocab/", "7", "vocabulary: token 7 is empty"},
        BrokenTokenizer{"no_unk", Kind::words, "/model/unk_token", "", "model: \"unk_token\" is missing"},
        BrokenTokenizer{"unk_disagrees", Kind::words, "/model/unk_token", "\"am\"",
                        "model.unk_token: tokenizer_config.json says \"<UNK>\""},
        BrokenTokenizer{"max_length_zero", Kind::words, "/truncation/max_length", "0",
                        "truncation.max_length: expected at least 1, got 0"},
        BrokenTokenizer{"truncate_left", Kind::words, "/truncation/direction", "\"Left\"",
                        "truncation.direction: expected Right, got \"Left\""},
        BrokenTokenizer{"added_id", Kind::words, "/added_tokens/0/id", "3",
                        "added_tokens[0].id: expected 2, the id of \"<EOS>\", got 3"},
        BrokenTokenizer{"added_unknown", Kind::words, "/added_tokens/0/content", "\"<MASK>\"",
                        "added_tokens[0]: \"<MASK>\" is neither in the vocabulary nor a role"},
        BrokenTokenizer{"added_object", Kind::words, "/added_tokens", "{}",
                        "added_tokens: expected an array, got an object"},
        BrokenTokenizer{"split_pattern", Kind::characters, "/pre_tokenizer/pattern/Regex", "\"[a-z]\"",
                        "pre_tokenizer: expected WhitespaceSplit, or Split that isolates every character"},
        BrokenTokenizer{"split_removed", Kind::characters, "/pre_tokenizer/behavior", "\"Removed\"",
                        "pre_tokenizer: expected WhitespaceSplit, or Split that isolates every character"},
        BrokenTokenizer{"character_decoder", Kind::characters, "/decoder/type", "\"ByteLevel\"",
                        "decoder: expected the type Fuse with this model type"},
        BrokenTokenizer{"two_characters", Kind::characters, "/model/vocab/xy", "7",
                        "character tokenizer: token 7, \"xy\", is not one character"},
        BrokenTokenizer{"character_truncation", Kind::characters, "/truncation", R"({"max_length":3})",
                        "truncation: expected null with this model type, got an object"},
        BrokenTokenizer{"merges", Kind::bytes, "/model/merges", R"(["a b"])",
                        "model: weft reads BPE models of the 256 single bytes only"},
        BrokenTokenizer{"byte_vocab", Kind::bytes, "/model/vocab", R"({"a":0})",
                        "model: weft reads BPE models of the 256 single bytes only"},
        BrokenTokenizer{"byte_decoder", Kind::bytes, "/decoder", "", "\"decoder\" is missing"},
        BrokenTokenizer{"byte_prefix_space", Kind::bytes, "/pre_tokenizer/add_prefix_space", "true",
                        "pre_tokenizer.add_prefix_space: expected false, got true"},
        BrokenTokenizer{"byte_added_id", Kind::bytes, "/added_tokens/0/id", "300",
                        "added_tokens[0].id: expected 256, the id of \"<EOS>\", got 300"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(TokenizerFile, MissingFileAndBrokenConfig) {
  const TemporaryFolder folder;
  EXPECT_EQ(message_of([&] { load_tokenizer(folder.path()); }),
            "cannot open " + (folder / "tokenizer.json").string() + ": No such file or directory");
  save_tokenizer(words(), folder.path());
  const std::string config = (folder / "tokenizer_config.json").string();
  write_file_atomically(config, R"({"bos_token": 3})");
  EXPECT_EQ(message_of([&] { load_tokenizer(folder.path()); }), config + ": bos_token: expected a string, got 3");
  write_file_atomically(config, "{");
  EXPECT_THAT(message_of([&] { load_tokenizer(folder.path()); }), testing::StartsWith(config + ": line 1, column 2: "));
}

TEST(TokenizerFile, EveryTruncationIsRefused) {
  const TemporaryFolder folder;
  save_tokenizer(words(), folder.path());
  const std::string path = (folder / "tokenizer.json").string();
  const std::string text = format_json(parse_json(read_file(path), path), JsonStyle::compact);
  for (size_t length = 0; length < text.size(); ++length) {
    write_unsynced(path, text.substr(0, length));
    EXPECT_THROW(load_tokenizer(path), FormatError) << length;
  }
}

TEST(TokenizerFile, RandomChangesNeverCrash) {
  for (Kind kind : {Kind::words, Kind::characters, Kind::bytes}) {
    const TemporaryFolder folder;
    save_tokenizer(*sample(kind), folder.path());
    const std::string path = (folder / "tokenizer.json").string();
    const std::string original = read_file(path);
    for (uint64_t round = 0; round < 400; ++round) {
      const Rng rng = Rng{.seed = 3, .stream = 0}.split(round);
      std::string changed = original;
      changed[rng.below(changed.size(), 0)] = static_cast<char>(rng.below(256, 1));
      write_unsynced(path, changed);
      try {
        const auto tokenizer = load_tokenizer(path);
        tokenizer->decode(tokenizer->encode(""));
      } catch (const FormatError&) {
      }
    }
  }
}

}  // namespace
}  // namespace weft::text
