#include "weft/text/forms/documents.h"

#include <array>
#include <string>

#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/text/limits.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

namespace fs = std::filesystem;

// Calls use(line) for each line, without its line end.
template <typename Use>
void for_each_line(std::string_view text, Use&& use) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    use(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

Json read_config(const fs::path& folder) {
  const fs::path path = folder / "tokenizer_config.json";
  std::error_code ignored;
  return fs::exists(path, ignored) ? parse_json(read_file(path, longest_file), path.string()) : Json::object();
}

Json added_token(const std::string& content, int64_t id, bool normalized) {
  return {{"id", id},        {"content", content},       {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", normalized}, {"special", true}};
}

// A role's token, a string or an object with its content, by its usual name if the configuration does not say.
std::string name_of(const JsonView& config, std::string_view role, std::string_view usual) {
  if (!config.has(role)) return std::string(usual);
  const JsonView value = config.at(role);
  return value.value().is_object() ? value.get<std::string>("content") : value.as<std::string>();
}

Json special_piece(const std::string& token, int type_id) {
  return {{"SpecialToken", {{"id", token}, {"type_id", type_id}}}};
}

Json text_piece(const char* text, int type_id) { return {{"Sequence", {{"id", text}, {"type_id", type_id}}}}; }

Json bert_template(const std::string& cls, int64_t cls_id, const std::string& sep, int64_t sep_id) {
  return {
      {"type", "TemplateProcessing"},
      {"single", {special_piece(cls, 0), text_piece("A", 0), special_piece(sep, 0)}},
      {"pair",
       {special_piece(cls, 0), text_piece("A", 0), special_piece(sep, 0), text_piece("B", 1), special_piece(sep, 1)}},
      {"special_tokens",
       {{cls, {{"id", cls}, {"ids", {cls_id}}, {"tokens", {cls}}}},
        {sep, {{"id", sep}, {"ids", {sep_id}}, {"tokens", {sep}}}}}}};
}

int64_t id_in(const Json& vocabulary, const std::string& token, const std::string& source) {
  require<FormatError>(vocabulary.contains(token), "{}: the vocabulary lacks \"{}\"", source, token);
  return JsonView(vocabulary, source).get<int64_t>(token);
}

Json empty_document() {
  return {{"version", "1.0"},      {"truncation", nullptr},    {"padding", nullptr}, {"added_tokens", Json::array()},
          {"normalizer", nullptr}, {"pre_tokenizer", nullptr}, {"decoder", nullptr}, {"post_processor", nullptr}};
}

Json read_vocab_txt(const fs::path& path) {
  Json vocabulary = Json::object();
  int64_t id = 0;
  for_each_line(read_file(path, longest_file), [&](std::string_view line) {
    require<FormatError>(is_utf8(line), "{}: line {} is not UTF-8", path.string(), id + 1);
    vocabulary[std::string(line)] = id++;  // of tokens that stand twice, the last
  });
  return vocabulary;
}

Json read_merges(const fs::path& path) {
  Json merges = Json::array();
  int64_t number = 0;
  for_each_line(read_file(path, longest_file), [&](std::string_view line) {
    ++number;
    if (line.empty() || line.starts_with("#version")) return;
    require<FormatError>(is_utf8(line), "{}: line {} is not UTF-8", path.string(), number);
    merges.push_back(std::string(line));
  });
  return merges;
}

}  // namespace

Json document_of_vocab_txt(const fs::path& vocab) {
  const Json settings = read_config(vocab.parent_path());
  const JsonView config(settings, (vocab.parent_path() / "tokenizer_config.json").string());
  Json vocabulary = read_vocab_txt(vocab);
  const std::string unk = name_of(config, "unk_token", "[UNK]");
  const std::string cls = name_of(config, "cls_token", "[CLS]");
  const std::string sep = name_of(config, "sep_token", "[SEP]");
  Json document = empty_document();
  for (const std::string& token :
       {name_of(config, "pad_token", "[PAD]"), unk, cls, sep, name_of(config, "mask_token", "[MASK]")}) {
    if (vocabulary.contains(token)) document["added_tokens"].push_back(added_token(token, vocabulary[token], false));
  }
  document["normalizer"] = {{"type", "BertNormalizer"},
                            {"clean_text", true},
                            {"handle_chinese_chars", config.get_or<bool>("tokenize_chinese_chars", true)},
                            {"strip_accents", nullptr},
                            {"lowercase", config.get_or<bool>("do_lower_case", true)}};
  if (config.has("strip_accents")) document["normalizer"]["strip_accents"] = config.get<bool>("strip_accents");
  document["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  document["post_processor"] =
      bert_template(cls, id_in(vocabulary, cls, vocab.string()), sep, id_in(vocabulary, sep, vocab.string()));
  document["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  document["model"] = {{"type", "WordPiece"},
                       {"unk_token", unk},
                       {"continuing_subword_prefix", "##"},
                       {"max_input_chars_per_word", 100},
                       {"vocab", std::move(vocabulary)}};
  return document;
}

Json document_of_merges(const fs::path& vocab, const fs::path& merges) {
  const Json settings = read_config(vocab.parent_path());
  const JsonView config(settings, (vocab.parent_path() / "tokenizer_config.json").string());
  Json vocabulary = parse_json(read_file(vocab, longest_file), vocab.string());
  const bool roberta = config.get_or<std::string>("tokenizer_class", "").starts_with("Roberta");
  const bool prefix = config.get_or<bool>("add_prefix_space", false);
  Json document = empty_document();
  const auto add = [&](const std::string& token, bool lstrip) {
    if (!vocabulary.contains(token)) return;
    document["added_tokens"].push_back(added_token(token, vocabulary[token], true));
    document["added_tokens"].back()["lstrip"] = lstrip;
  };
  const Json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}, {"use_regex", true}};
  document["pre_tokenizer"] = byte_level;
  document["decoder"] = byte_level;
  if (roberta) {
    const std::string cls = name_of(config, "cls_token", "<s>");
    const std::string sep = name_of(config, "sep_token", "</s>");
    for (const std::string& token : {cls, std::string("<pad>"), sep, std::string("<unk>")}) add(token, false);
    add(name_of(config, "mask_token", "<mask>"), true);
    document["post_processor"] = {{"type", "RobertaProcessing"},
                                  {"sep", {sep, id_in(vocabulary, sep, vocab.string())}},
                                  {"cls", {cls, id_in(vocabulary, cls, vocab.string())}},
                                  {"trim_offsets", true},
                                  {"add_prefix_space", prefix}};
  } else {
    add(name_of(config, "eos_token", "<|endoftext|>"), false);
    document["post_processor"] = byte_level;
    document["post_processor"]["trim_offsets"] = false;
  }
  document["model"] = {{"type", "BPE"},
                       {"dropout", nullptr},
                       {"unk_token", nullptr},
                       {"continuing_subword_prefix", ""},
                       {"end_of_word_suffix", ""},
                       {"fuse_unk", false},
                       {"byte_fallback", false},
                       {"ignore_merges", false},
                       {"vocab", std::move(vocabulary)},
                       {"merges", read_merges(merges)}};
  return document;
}

}  // namespace weft::text
