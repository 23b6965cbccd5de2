#include "weft/text/pipeline_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/samples.h"
#include "weft/base/files.h"
#include "weft/base/rng.h"
#include "weft/text/byte_names.h"
#include "weft/text/forms/documents.h"
#include "weft/text/forms/sentence_piece.h"
#include "weft/text/tokenizer_file.h"
#include "weft/text/unicode.h"

namespace weft::text {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::message_of;
using testing_support::TemporaryFolder;

fs::path fixtures() { return fs::path(WEFT_SOURCE_DIR) / "tests/fixtures/tokenizers"; }

Json read_json(const fs::path& path) { return parse_json(read_file(path), path.string()); }

PipelineTokenizer load(const fs::path& path) { return PipelineTokenizer(read_json(path), path.string()); }

// GPT-2 numbered the bytes, those that are visible as themselves first, then the merges, then its one special token.
Json gpt2_vocabulary(const Json& merges) {
  Json vocabulary = Json::object();
  const auto add = [&](const std::string& name) { vocabulary[name] = vocabulary.size(); };
  for (const bool visible : {true, false}) {
    for (int byte = 0; byte < 256; ++byte) {
      const char32_t shown = visible_byte(static_cast<uint8_t>(byte));
      if ((shown == static_cast<char32_t>(byte)) == visible) add(to_utf8(shown));
    }
  }
  for (const Json& merge : merges) {
    std::string name = merge.get<std::string>();
    name.erase(name.find(' '), 1);
    add(name);
  }
  add("<|endoftext|>");
  return vocabulary;
}

// GPT-2's two files in a folder of their own.
void write_gpt2(const TemporaryFolder& folder) {
  const fs::path merges = fixtures() / "gpt2/merges.txt";
  copy_file_atomically(merges, folder / "merges.txt");
  write_file_atomically(folder / "vocab.json", "{}");
  const Json document = document_of_merges(folder / "vocab.json", merges);
  write_file_atomically(folder / "vocab.json", format_json(gpt2_vocabulary(document["model"]["merges"])));
}

// A tokenizer that has GPT-2's vocabulary and is otherwise as described in the folder.
PipelineTokenizer load_with_gpt2(const fs::path& folder) {
  const TemporaryFolder gpt2;
  write_gpt2(gpt2);
  Json model = document_of_merges(gpt2 / "vocab.json", gpt2 / "merges.txt")["model"];
  Json document = read_json(folder / "description.json");
  document["model"]["vocab"] = model["vocab"];
  document["model"]["merges"] = model["merges"];
  return PipelineTokenizer(std::move(document), folder.string());
}

void expect_agreement(const PipelineTokenizer& tokenizer, const fs::path& folder) {
  SCOPED_TRACE(folder.string());
  std::vector<std::string> differences = check_cases(tokenizer, folder / "cases.jsonl");
  for (const char* file : {"pairs.jsonl", "truncation.jsonl"}) {
    if (!fs::exists(folder / file)) continue;
    const auto more = check_pairs(tokenizer, folder / file);
    differences.insert(differences.end(), more.begin(), more.end());
  }
  for (size_t i = 0; i < std::min<size_t>(differences.size(), 10); ++i) ADD_FAILURE() << differences[i];
  EXPECT_EQ(differences.size(), 0u);
}

// WEFT_TOKENIZER_SAMPLES names a folder of further samples, one folder a tokenizer.
TEST(TokenizerSamples, AgreeWithTheReference) {
  const char* other = std::getenv("WEFT_TOKENIZER_SAMPLES");
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(other != nullptr ? fs::path(other) : fixtures())) {
    if (!fs::exists(entry.path() / "tokenizer.json") || !fs::exists(entry.path() / "cases.jsonl")) continue;
    expect_agreement(load(entry.path() / "tokenizer.json"), entry.path());
    ++count;
  }
  EXPECT_GT(count, 0);
}

TEST(TokenizerSamples, VocabTxtAloneIsBert) {
  const auto tokenizer = load_tokenizer(fixtures() / "bert/vocab.txt");
  const auto& pipeline = dynamic_cast<const PipelineTokenizer&>(*tokenizer);
  expect_agreement(pipeline, fixtures() / "bert");
  EXPECT_EQ(tokenizer->special(), (SpecialIds{.bos = {}, .eos = {}, .pad = 0, .unk = 100}));
  EXPECT_EQ(load_tokenizer(fixtures() / "bert")->vocab_size(), 30522);
}

TEST(TokenizerSamples, VocabJsonAndMergesAreGpt2) {
  const TemporaryFolder folder;
  write_gpt2(folder);
  const auto tokenizer = load_tokenizer(folder.path());
  EXPECT_EQ(tokenizer->vocab_size(), 50257);
  EXPECT_EQ(tokenizer->special(), (SpecialIds{.bos = 50256, .eos = 50256, .pad = {}, .unk = {}}));
  expect_agreement(dynamic_cast<const PipelineTokenizer&>(*tokenizer), fixtures() / "gpt2");
  EXPECT_EQ(load_tokenizer(folder / "merges.txt")->encode("Hello"), tokenizer->encode("Hello"));
}

TEST(TokenizerSamples, OtherSplitsOfTheGpt2Vocabulary) {
  for (const char* name : {"gpt2-llama3split", "gpt2-qwen2split"}) {
    expect_agreement(load_with_gpt2(fixtures() / name), fixtures() / name);
  }
}

TEST(TokenizerSamples, SentencePieceModel) {
  const fs::path folder = fixtures() / "spm-unigram-1k";
  const auto tokenizer = SentencePieceTokenizer::read(folder / "test_model.model");
  for (const Json& row : read_rows(folder / "sentencepiece.jsonl")) {
    const std::string text = row["text"];
    const std::vector<int32_t> ids = row["ids"];
    EXPECT_EQ(tokenizer.encode(text), ids) << text;
    const Encoding encoding = tokenizer.encode({text}, {});
    EXPECT_EQ(encoding.ids, ids);
    EXPECT_EQ(Json(encoding.tokens), row["pieces"]) << text;
    EXPECT_EQ(tokenizer.decode(ids), row["decoded"].get<std::string>()) << text;
  }
  EXPECT_EQ(tokenizer.special(), (SpecialIds{.bos = 1, .eos = 2, .pad = {}, .unk = 0}));
}

// E2 of the notes.
TEST(PipelineTokenizer, TheBertSamplesOfTheNotes) {
  const auto loaded = load_tokenizer(fixtures() / "bert");
  const auto& tokenizer = dynamic_cast<const PipelineTokenizer&>(*loaded);
  const std::vector<TextPair> texts = {{"this is a sample."}, {"I am coding with BERT tokenizer."}};
  EncodeOptions options;
  options.padding = Padding{};
  options.truncation = Truncation{.max_length = 20};
  const std::vector<Encoding> batch = tokenizer.encode_batch(texts, options);
  EXPECT_THAT(batch[0].ids, ElementsAre(101, 2023, 2003, 1037, 7099, 1012, 102, 0, 0, 0));
  EXPECT_THAT(batch[0].attention_mask, ElementsAre(1, 1, 1, 1, 1, 1, 1, 0, 0, 0));
  EXPECT_THAT(batch[1].ids, ElementsAre(101, 1045, 2572, 16861, 2007, 14324, 19204, 17629, 1012, 102));
  EXPECT_EQ(tokenizer.decode(batch[0].ids, SpecialTokens::skip), "this is a sample.");
  EXPECT_EQ(tokenizer.decode(batch[1].ids), "[CLS] i am coding with bert tokenizer. [SEP]");
}

TEST(PipelineTokenizer, WritesBackWhatItRead) {
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(fixtures())) {
    const fs::path file = entry.path() / "tokenizer.json";
    if (!fs::exists(file)) continue;
    EXPECT_EQ(load(file).document(), read_json(file)) << file;
    ++count;
  }
  EXPECT_GT(count, 10);
  const TemporaryFolder folder;
  save_tokenizer(*load_tokenizer(fixtures() / "bert"), folder.path());
  expect_agreement(dynamic_cast<const PipelineTokenizer&>(*load_tokenizer(folder.path())), fixtures() / "bert");
}

TEST(PipelineTokenizer, OffsetsAreBytesOfTheTextAsItWasGiven) {
  const auto loaded = load_tokenizer(fixtures() / "bert");
  const auto& tokenizer = dynamic_cast<const PipelineTokenizer&>(*loaded);
  const Encoding encoding = tokenizer.encode({"Caf\u00e9 \xff\xe2\x82 ok"}, {.special_tokens = AddSpecialTokens::no});
  EXPECT_THAT(encoding.tokens, ElementsAre("cafe", "ok"));
  EXPECT_THAT(encoding.offsets, ElementsAre(ByteRange{0, 5}, ByteRange{10, 12}));
  EXPECT_THAT(encoding.word_ids, ElementsAre(0, 1));
}

// Lists that are not asked for stay empty through special tokens, truncation and padding; the others are the same.
TEST(PipelineTokenizer, LessDetailIsTheSameWithoutTheRest) {
  for (const char* name : {"bert", "spm-unigram-1k", "roberta-like"}) {
    const auto loaded = load_tokenizer(fixtures() / name);
    const auto& tokenizer = dynamic_cast<const PipelineTokenizer&>(*loaded);
    EncodeOptions options{.truncation = Truncation{.max_length = 12, .stride = 2}, .padding = Padding{.length = 14}};
    const TextPair texts{"The cat sat on the mat, and the dog lay beside it.", "A second text"};
    const Encoding all = tokenizer.encode(texts, options);
    options.detail = EncodeDetail::masks;
    const Encoding masks = tokenizer.encode(texts, options);
    options.detail = EncodeDetail::ids;
    const Encoding ids = tokenizer.encode(texts, options);
    EXPECT_EQ(masks.ids, all.ids);
    EXPECT_EQ(ids.ids, all.ids);
    EXPECT_EQ(masks.type_ids, all.type_ids);
    EXPECT_EQ(masks.attention_mask, all.attention_mask);
    EXPECT_EQ(masks.special_tokens_mask, all.special_tokens_mask);
    EXPECT_TRUE(masks.tokens.empty() && masks.offsets.empty() && masks.word_ids.empty());
    EXPECT_TRUE(ids.type_ids.empty() && ids.attention_mask.empty() && ids.special_tokens_mask.empty());
    EXPECT_TRUE(ids.tokens.empty() && ids.offsets.empty() && ids.word_ids.empty());
    ASSERT_GT(all.overflowing.size(), 0u);
    ASSERT_EQ(ids.overflowing.size(), all.overflowing.size());
    for (size_t i = 0; i < all.overflowing.size(); ++i) EXPECT_EQ(ids.overflowing[i].ids, all.overflowing[i].ids);
  }
}

TEST(PipelineTokenizer, ByteLevelDecodingGivesTheTextBack) {
  const PipelineTokenizer tokenizer = load(fixtures() / "byte-normalizer/tokenizer.json");
  Json document = tokenizer.document();
  document["normalizer"] = {{"type", "ByteLevel"}};
  document["decoder"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
  const PipelineTokenizer bytes(std::move(document), "bytes");
  for (uint64_t round = 0; round < 2000; ++round) {
    const Rng rng = Rng{.seed = 5, .stream = 0}.split(round);
    std::string text;
    for (uint64_t i = 0; i < rng.below(30, 0); ++i) {
      const auto value = static_cast<char32_t>(rng.below(rng.below(4, 2 * i + 1) == 0 ? 0x110000 : 0x180, 2 * i + 2));
      if (value < 0xd800 || value > 0xdfff) append_utf8(value, text);
    }
    ASSERT_EQ(bytes.decode(bytes.encode(text)), text);
  }
}

TEST(PipelineTokenizer, OneTokenizerServesManyThreads) {
  const PipelineTokenizer tokenizer = load(fixtures() / "roberta-like/tokenizer.json");
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) texts.push_back(fmt::format("Line {} of the text, and\nsome more {}", i * 7919, i));
  std::vector<TextPair> batch(texts.begin(), texts.end());
  const std::vector<Encoding> encodings = tokenizer.encode_batch(batch, {});
  for (size_t i = 0; i < batch.size(); ++i) EXPECT_EQ(encodings[i].ids, tokenizer.encode(batch[i], {}).ids);
}

struct BrokenDocument {
  const char* name;
  const char* pointer;
  const char* value;
  const char* message;
};

class BrokenTokenizerDocument : public testing::TestWithParam<BrokenDocument> {};

TEST_P(BrokenTokenizerDocument, IsRefused) {
  Json document = read_json(fixtures() / "bert-cased/tokenizer.json");
  document[Json::json_pointer(GetParam().pointer)] = Json::parse(GetParam().value);
  EXPECT_THAT(message_of([&] { PipelineTokenizer(std::move(document), "t.json"); }), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Table, BrokenTokenizerDocument,
    testing::Values(
        BrokenDocument{"normalizer", "/normalizer/type", R"("BertNormaliser")",
                       R"(t.json: normalizer: unknown normalizer "BertNormaliser"; did you mean "BertNormalizer"?)"},
        BrokenDocument{"normalizer_key", "/normalizer/lower", "true", "t.json: normalizer: unknown key \"lower\""},
        BrokenDocument{"pre_tokenizer", "/pre_tokenizer", R"({"type": "Whitespac"})", "did you mean \"Whitespace\"?"},
        BrokenDocument{"post_processor", "/post_processor/type", R"("X")", "post_processor: unknown post-processor"},
        BrokenDocument{"decoder", "/decoder", R"({"type": "CTC"})", "decoder: unknown decoder \"CTC\""},
        BrokenDocument{"model", "/model/type", R"("Unigramm")", "did you mean \"Unigram\"?"},
        BrokenDocument{"huge_id", "/model/vocab/xyz", "4000000000", "model.vocab.xyz: expected an id from 0 to"},
        BrokenDocument{"negative_id", "/model/vocab/xyz", "-1", "model.vocab.xyz: expected an id from 0 to"},
        BrokenDocument{"template_token", "/post_processor/single/0/SpecialToken/id", R"("[X]")",
                       "post_processor.single[0].SpecialToken.id: expected one of special_tokens"},
        BrokenDocument{"template_b", "/post_processor/single/1/Sequence/id", R"("B")", "expected no second text here"},
        BrokenDocument{"regex", "/normalizer", R"({"type": "Replace", "pattern": {"Regex": "(a"}, "content": ""})",
                       "normalizer.pattern: regular expression: \"(a\" does not compile"},
        BrokenDocument{"charsmap", "/normalizer", R"({"type": "Precompiled", "precompiled_charsmap": "AAAA"})",
                       "character map: expected at least 4 bytes, got 3"},
        BrokenDocument{"truncation", "/truncation", R"({"max_length": 1e9})",
                       "truncation.max_length: expected a whole"},
        BrokenDocument{"version", "/version", R"("2.0")", "version: expected \"1.0\""}),
    [](const auto& instance) { return std::string(instance.param.name); });

// The first takes the white space behind it along; the second is white space, and takes that before it along.
TEST(PipelineTokenizer, AddedTokensShareTheWhiteSpaceBetweenThem) {
  const Json document = Json::parse(R"({"added_tokens": [
      {"id": 0, "content": "x", "rstrip": true, "normalized": false},
      {"id": 3, "content": " ", "lstrip": true, "normalized": false}],
      "model": {"type": "WordLevel", "vocab": {"x": 0, "y": 1, "<u>": 2}, "unk_token": "<u>"}})");
  const PipelineTokenizer tokenizer(document, "t.json");
  EXPECT_EQ(tokenizer.encode("x   y"), (std::vector<int32_t>{0, 1}));  // the reference fails here
  EXPECT_EQ(tokenizer.encode("y  x"), (std::vector<int32_t>{1, 3, 3, 0}));
}

// The first may leave any number of parts, none among them, where the second wants one for each text.
TEST(PipelineTokenizer, OneElementPutsTheTextsInTheirOrder) {
  const Json empty = {{"type", "TemplateProcessing"},
                      {"single", Json::array()},
                      {"pair", Json::array()},
                      {"special_tokens", Json::object()}};
  const Json bert = {{"type", "BertProcessing"}, {"sep", {"[SEP]", 102}}, {"cls", {"[CLS]", 101}}};
  const auto load_with = [&](const Json& processors) {
    Json document = read_json(fixtures() / "bert-cased/tokenizer.json");
    document["post_processor"] = {{"type", "Sequence"}, {"processors", processors}};
    return std::make_unique<PipelineTokenizer>(std::move(document), "t.json");
  };
  const Json nested = {{"type", "Sequence"}, {"processors", {empty}}};
  for (const Json& first : {empty, bert, nested}) {
    EXPECT_THAT(message_of([&] {
                  load_with({first, bert})->encode({"to be"}, {});
                }),
                HasSubstr("post_processor.processors: expected at most one that puts the texts in their order"));
  }
  const Json trim = {{"type", "ByteLevel"}, {"trim_offsets", true}, {"add_prefix_space", false}, {"use_regex", true}};
  EXPECT_EQ(load_with({trim, bert, trim})->encode({"to be"}, {}).size(), 4u);
  EXPECT_EQ(load_with({empty, trim})->encode({"to be"}, {}).size(), 0u);
}

TEST(PipelineTokenizer, CatastrophicPatternsGiveUp) {
  Json document = read_json(fixtures() / "word-level/tokenizer.json");
  document["normalizer"] = nullptr;
  document["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"Regex", "(a+)+$"}}}, {"behavior", "Isolated"}, {"invert", false}};
  const PipelineTokenizer tokenizer(std::move(document), "t.json");
  const std::string text = std::string(200, 'a') + "!";
  EXPECT_THAT(message_of([&] { tokenizer.encode(text); }), HasSubstr("\"(a+)+$\" gives up at byte 0"));
}

TEST(PipelineTokenizer, TruncationLeavesRoomForSpecialTokens) {
  const PipelineTokenizer tokenizer = load(fixtures() / "bert-cased/tokenizer.json");
  const auto cut = [&](int64_t length, int64_t stride, const TextPair& texts) {
    EncodeOptions options;
    options.truncation = Truncation{.max_length = length, .stride = stride};
    return tokenizer.encode(texts, options).ids;
  };
  EXPECT_EQ(tokenizer.special_tokens_per_text(), 2);
  EXPECT_EQ(cut(2, 0, {"to be"}).size(), 2u);
  EXPECT_EQ(message_of([&] { cut(1, 0, {"to be"}); }), "truncation: 1 tokens have no room for the 2 special ones");
  EXPECT_EQ(message_of([&] { cut(2, 0, {"to", "be"}); }), "truncation: 2 tokens have no room for the 3 special ones");
  EXPECT_THAT(message_of([&] { cut(4, 3, {"to be"}); }), HasSubstr("expected a stride within the 2 tokens"));
}

TEST(PipelineTokenizer, IdsBetweenOthersMayHaveNoToken) {
  const PipelineTokenizer tokenizer(
      Json::parse(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 3}, "merges": []}})"), "t.json");
  EXPECT_EQ(tokenizer.vocab_size(), 4);
  EXPECT_EQ(tokenizer.token(3), "b");
  EXPECT_EQ(tokenizer.token(1), "");
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{0, 1, 3}), "a b");
  EXPECT_EQ(message_of([&] { tokenizer.token(4); }), "tokenizer: no token 4, ids run from 0 to 3");
  EXPECT_EQ(message_of([&] { tokenizer.token(-1); }), "tokenizer: no token -1, ids run from 0 to 3");
}

TEST(PipelineTokenizer, MergesInCirclesEnd) {
  const Json document = Json::parse(R"({"model": {"type": "BPE", "vocab": {"a": 0, "aa": 1, "aaaa": 2},
      "merges": ["a a", "aa aa", ["a", "a"]]}})");
  const PipelineTokenizer tokenizer(document, "t.json");
  EXPECT_EQ(tokenizer.encode(std::string(100000, 'a')).size(), 25000u);
  const Json missing = Json::parse(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a a"]}})");
  EXPECT_EQ(message_of([&] { PipelineTokenizer(missing, "t.json"); }),
            "t.json: model.merges[0]: \"aa\" is not in the vocabulary");
}

TEST(PipelineTokenizer, DropoutLeavesMergesOut) {
  const Json document = Json::parse(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "dropout": 0.5,
      "merges": ["a b"]}, "pre_tokenizer": {"type": "WhitespaceSplit"}})");
  const PipelineTokenizer tokenizer(document, "t.json");
  std::string text;
  for (int i = 0; i < 100; ++i) text += "ab ";
  const std::vector<int32_t> ids = tokenizer.encode(text);
  EXPECT_GT(ids.size(), 100u);
  EXPECT_LT(ids.size(), 200u);
}

}  // namespace
}  // namespace weft::text
