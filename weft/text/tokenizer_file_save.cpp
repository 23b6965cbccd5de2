#include <set>

#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/base/json.h"
#include "weft/text/byte.h"
#include "weft/text/character.h"
#include "weft/text/forms/marian.h"
#include "weft/text/forms/sentence_piece.h"
#include "weft/text/pipeline_tokenizer.h"
#include "weft/text/tokenizer_file.h"
#include "weft/text/tokenizer_layout.h"
#include "weft/text/word.h"

namespace weft::text {

namespace {

Json vocabulary_of(const Tokenizer& tokenizer, int32_t count) {
  Json vocabulary = Json::object();
  for (int32_t id = 0; id < count; ++id) vocabulary[tokenizer.token(id)] = id;
  return vocabulary;
}

Json added_tokens(const Tokenizer& tokenizer) {
  const SpecialIds& special = tokenizer.special();
  std::set<int32_t> ids;
  for (const std::optional<int32_t>& id : {special.bos, special.eos, special.pad, special.unk}) {
    if (id) ids.insert(*id);
  }
  Json tokens = Json::array();
  for (int32_t id : ids) {
    tokens.push_back({{"id", id},
                      {"content", tokenizer.token(id)},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", true}});
  }
  return tokens;
}

Json common_part(const Tokenizer& tokenizer) {
  return {{"version", "1.0"},      {"truncation", nullptr},     {"padding", nullptr},
          {"normalizer", nullptr}, {"post_processor", nullptr}, {"added_tokens", added_tokens(tokenizer)}};
}

// An unk_token that is not in the vocabulary makes unknown words an error in other tools as well.
Json word_level_model(const Tokenizer& tokenizer) {
  const std::optional<int32_t> unk = tokenizer.special().unk;
  return {{"type", "WordLevel"},
          {"vocab", vocabulary_of(tokenizer, tokenizer.vocab_size())},
          {"unk_token", unk ? tokenizer.token(*unk) : ""}};
}

Json document_of(const WordTokenizer& tokenizer) {
  Json document = common_part(tokenizer);
  document["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  document["decoder"] = nullptr;
  document["model"] = word_level_model(tokenizer);
  if (tokenizer.max_length() > 0) {
    document["truncation"] = {
        {"direction", "Right"}, {"max_length", tokenizer.max_length()}, {"strategy", "LongestFirst"}, {"stride", 0}};
  }
  return document;
}

Json document_of(const CharacterTokenizer& tokenizer) {
  Json document = common_part(tokenizer);
  document["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"Regex", every_character}}}, {"behavior", "Isolated"}, {"invert", false}};
  document["decoder"] = {{"type", "Fuse"}};
  document["model"] = word_level_model(tokenizer);
  return document;
}

Json document_of(const ByteTokenizer& tokenizer) {
  const Json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  Json document = common_part(tokenizer);
  document["pre_tokenizer"] = byte_level;
  document["decoder"] = byte_level;
  document["model"] = {{"type", "BPE"},
                       {"dropout", nullptr},
                       {"unk_token", nullptr},
                       {"continuing_subword_prefix", nullptr},
                       {"end_of_word_suffix", nullptr},
                       {"fuse_unk", false},
                       {"byte_fallback", false},
                       {"vocab", vocabulary_of(tokenizer, 256)},
                       {"merges", Json::array()}};
  return document;
}

Json document_of(const Tokenizer& tokenizer) {
  if (const auto* word = dynamic_cast<const WordTokenizer*>(&tokenizer)) return document_of(*word);
  if (const auto* character = dynamic_cast<const CharacterTokenizer*>(&tokenizer)) return document_of(*character);
  if (const auto* byte = dynamic_cast<const ByteTokenizer*>(&tokenizer)) return document_of(*byte);
  if (const auto* pipeline = dynamic_cast<const PipelineTokenizer*>(&tokenizer)) return pipeline->document();
  fail("save tokenizer: not one of the pipeline, word, character and byte tokenizers");
}

Json config_of(const Tokenizer& tokenizer) {
  // Other tools otherwise delete spaces before punctuation when they decode.
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"clean_up_tokenization_spaces", false}};
  if (dynamic_cast<const EncodingTokenizer*>(&tokenizer) == nullptr) config[own_kind_key] = true;
  const auto put = [&](const char* role, const std::optional<int32_t>& id) {
    if (id) config[role] = tokenizer.token(*id);
  };
  put("bos_token", tokenizer.special().bos);
  put("eos_token", tokenizer.special().eos);
  put("pad_token", tokenizer.special().pad);
  put("unk_token", tokenizer.special().unk);
  return config;
}

}  // namespace

void save_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& path) {
  const TokenizerPaths paths = tokenizer_paths(path);
  const std::filesystem::path folder = paths.tokenizer.parent_path();
  if (const auto* pieces = dynamic_cast<const SentencePieceTokenizer*>(&tokenizer)) {
    write_file_atomically(folder / "tokenizer.model", pieces->bytes());
    write_file_atomically(paths.config, format_json(config_of(tokenizer)));
    return;
  }
  if (const auto* marian = dynamic_cast<const MarianTokenizer*>(&tokenizer)) {
    for (const char* name : {"source.spm", "target.spm", "vocab.json"}) {
      copy_file_atomically(marian->folder() / name, folder / name);
    }
    write_file_atomically(paths.config, format_json(config_of(tokenizer)));
    return;
  }
  const Json document = document_of(tokenizer);
  write_file_atomically(paths.config, format_json(config_of(tokenizer)));
  write_file_atomically(paths.tokenizer, format_json(document));
}

}  // namespace weft::text
