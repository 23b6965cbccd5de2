#include "weft/text/training/pipelines.h"

#include <algorithm>

namespace weft::text {

namespace {

Json byte_level() {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
}

// Blanks become "▁" and begin a word. No blank is put before a text: a line that begins a text and one inside it are
// read alike.
Json metaspace() { return {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "never"}, {"split", true}}; }

Json split_isolated(const std::string& expression) {
  return {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}};
}

Json bert_normalizer(bool cased) {
  return {{"type", "BertNormalizer"},
          {"clean_text", true},
          {"handle_chinese_chars", true},
          {"strip_accents", nullptr},
          {"lowercase", !cased}};
}

Json special(const std::string& name, int type_id) { return {{"SpecialToken", {{"id", name}, {"type_id", type_id}}}}; }

Json sequence(const char* name, int type_id) { return {{"Sequence", {{"id", name}, {"type_id", type_id}}}}; }

// bos A eos, and bos A eos B eos, with what is there of them.
Json around(const std::optional<std::string>& bos, const std::optional<std::string>& eos,
            const std::vector<std::string>& special_tokens) {
  Json single = Json::array(), pair = Json::array(), tokens = Json::object();
  if (bos) single.push_back(special(*bos, 0));
  single.push_back(sequence("A", 0));
  if (eos) single.push_back(special(*eos, 0));
  pair = single;
  pair.push_back(sequence("B", 1));
  if (eos) pair.push_back(special(*eos, 1));
  for (const std::optional<std::string>& name : {bos, eos}) {
    if (!name) continue;
    const auto id = std::ranges::find(special_tokens, *name) - special_tokens.begin();
    tokens[*name] = {{"id", *name}, {"ids", Json::array({id})}, {"tokens", Json::array({*name})}};
  }
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
}

}  // namespace

Json pipeline_of(const TokenizerTrainerConfig& config) {
  switch (config.kind) {
    case TokenizerKind::bpe:
      return {{"normalizer", nullptr}, {"pre_tokenizer", byte_level()}, {"decoder", byte_level()}};
    case TokenizerKind::bpe_character:
    case TokenizerKind::unigram:
      return {{"normalizer", nullptr},
              {"pre_tokenizer",
               {{"type", "Sequence"}, {"pretokenizers", Json::array({split_isolated("[\\r\\n]"), metaspace()})}}},
              {"decoder", metaspace()}};
    case TokenizerKind::wordpiece:
      return {{"normalizer", bert_normalizer(config.cased)},
              {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
              {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}}};
    case TokenizerKind::word:
      return {{"normalizer", nullptr}, {"pre_tokenizer", {{"type", "WhitespaceSplit"}}}, {"decoder", nullptr}};
    case TokenizerKind::character:
      return {{"normalizer", nullptr}, {"pre_tokenizer", split_isolated("[\\s\\S]")}, {"decoder", {{"type", "Fuse"}}}};
  }
  return {};
}

Json post_processor_of(const TokenizerTrainerConfig& config, const std::vector<std::string>& special_tokens) {
  if (config.kind == TokenizerKind::wordpiece) return around("[CLS]", "[SEP]", special_tokens);
  if (config.roles.bos || config.roles.eos) return around(config.roles.bos, config.roles.eos, special_tokens);
  if (config.kind == TokenizerKind::bpe) {
    Json result = byte_level();
    result["trim_offsets"] = false;
    return result;
  }
  return nullptr;
}

}  // namespace weft::text
