#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/json.h"
#include "weft/text/byte.h"
#include "weft/text/character.h"
#include "weft/text/tokenizer_layout.h"
#include "weft/text/word.h"

namespace weft::text {

namespace {

void require_null(const JsonView& root, std::string_view key) {
  if (root.has(key)) root.at(key).expected("null with this model type");
}

void require_type(const JsonView& root, std::string_view key, std::string_view type) {
  const JsonView part = root.at(key);
  if (!part.has("type") || part.get<std::string>("type") != type) {
    fail<FormatError>("{}: expected the type {} with this model type", part.place(), type);
  }
}

// The tokens in the order of their ids, which must be 0 … n − 1.
std::vector<std::string> read_vocabulary(const JsonView& vocabulary) {
  const std::vector<std::string> names = vocabulary.keys();
  std::vector<std::string> tokens(names.size());
  std::vector<bool> taken(names.size(), false);
  for (const std::string& name : names) {
    const auto id = vocabulary.get<int64_t>(name);
    if (id < 0 || id >= static_cast<int64_t>(names.size()) || taken[static_cast<size_t>(id)]) {
      vocabulary.at(name).expected(fmt::format("an id below {} that no other token has", names.size()));
    }
    taken[static_cast<size_t>(id)] = true;
    tokens[static_cast<size_t>(id)] = name;
  }
  return tokens;
}

// The model's own unknown token decides; it exists only if the vocabulary has it.
void settle_unknown(const JsonView& model, const std::vector<std::string>& tokens, SpecialNames& roles) {
  const JsonView name = model.at("unk_token");
  const bool exists = std::find(tokens.begin(), tokens.end(), name.as<std::string>()) != tokens.end();
  const auto unknown = exists ? std::optional(name.as<std::string>()) : std::nullopt;
  if (roles.unk && roles.unk != unknown) {
    fail<FormatError>("{}: tokenizer_config.json says \"{}\"", name.place(), *roles.unk);
  }
  roles.unk = unknown;
}

int64_t read_max_length(const JsonView& root) {
  if (!root.has("truncation")) return 0;
  const JsonView truncation = root.at("truncation");
  if (truncation.get_or<std::string>("direction", "Right") != "Right") truncation.at("direction").expected("Right");
  const auto length = truncation.get<int64_t>("max_length");
  if (length < 1) truncation.at("max_length").expected("at least 1");
  return length;
}

bool isolates_characters(const JsonView& pre_tokenizer) {
  if (pre_tokenizer.get<std::string>("type") != "Split") return false;
  const JsonView pattern = pre_tokenizer.at("pattern");
  const bool every = (pattern.has("Regex") && pattern.get<std::string>("Regex") == every_character) ||
                     (pattern.has("String") && pattern.get<std::string>("String").empty());
  return every && pre_tokenizer.get<std::string>("behavior") == "Isolated";
}

std::unique_ptr<Tokenizer> load_word_level(const JsonView& root, SpecialNames roles) {
  const JsonView model = root.at("model");
  model.allow_only({"type", "vocab", "unk_token"});
  std::vector<std::string> tokens = read_vocabulary(model.at("vocab"));
  settle_unknown(model, tokens, roles);
  const JsonView pre_tokenizer = root.at("pre_tokenizer");
  if (pre_tokenizer.get<std::string>("type") == "WhitespaceSplit") {
    require_null(root, "decoder");
    return std::make_unique<WordTokenizer>(
        WordTokenizerConfig{.words = std::move(tokens), .special = roles, .max_length = read_max_length(root)});
  }
  if (!isolates_characters(pre_tokenizer)) {
    fail<FormatError>("{}: expected WhitespaceSplit, or Split that isolates every character", pre_tokenizer.place());
  }
  require_null(root, "truncation");
  require_type(root, "decoder", "Fuse");
  return std::make_unique<CharacterTokenizer>(std::move(tokens), roles);
}

std::unique_ptr<Tokenizer> load_bytes(const JsonView& root, const SpecialNames& roles) {
  const JsonView model = root.at("model");
  const std::vector<std::string> tokens = read_vocabulary(model.at("vocab"));
  auto tokenizer = std::make_unique<ByteTokenizer>(roles);
  bool bytes_only = model.at("merges").size() == 0 && tokens.size() == 256;
  for (size_t i = 0; bytes_only && i < tokens.size(); ++i)
    bytes_only = tokens[i] == tokenizer->token(static_cast<int>(i));
  if (!bytes_only) fail<FormatError>("{}: weft reads BPE models of the 256 single bytes only", model.place());
  require_null(root, "truncation");
  require_type(root, "pre_tokenizer", "ByteLevel");
  require_type(root, "decoder", "ByteLevel");
  const JsonView prefix = root.at("pre_tokenizer").at("add_prefix_space");
  if (prefix.as<bool>()) prefix.expected("false");
  return tokenizer;
}

void check_added_tokens(const JsonView& root, const Tokenizer& tokenizer) {
  if (!root.has("added_tokens")) return;
  const JsonView added = root.at("added_tokens");
  for (size_t i = 0; i < added.size(); ++i) {
    const auto content = added.at(i).get<std::string>("content");
    const JsonView id = added.at(i).at("id");
    const std::optional<int32_t> known = tokenizer.find(content);
    if (!known) fail<FormatError>("{}: \"{}\" is neither in the vocabulary nor a role", added.at(i).place(), content);
    if (id.as<int64_t>() != *known) id.expected(fmt::format("{}, the id of \"{}\"", *known, content));
  }
}

std::unique_ptr<Tokenizer> build(const JsonView& root, const SpecialNames& roles) {
  root.allow_only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                   "decoder", "model"});
  if (root.get<std::string>("version") != "1.0") root.at("version").expected("\"1.0\"");
  for (const char* part : {"normalizer", "post_processor", "padding"}) require_null(root, part);
  const JsonView type = root.at("model").at("type");
  std::unique_ptr<Tokenizer> tokenizer;
  if (type.as<std::string>() == "WordLevel") {
    tokenizer = load_word_level(root, roles);
  } else if (type.as<std::string>() == "BPE") {
    tokenizer = load_bytes(root, roles);
  } else {
    type.expected("WordLevel or BPE");
  }
  check_added_tokens(root, *tokenizer);
  return tokenizer;
}

}  // namespace

std::unique_ptr<Tokenizer> load_own_tokenizer(const JsonView& root, const SpecialNames& roles) {
  try {
    return build(root, roles);
  } catch (const FormatError&) {
    throw;
  } catch (const Error& error) {  // a tokenizer refused what the file gave it
    fail<FormatError>("{}: {}", root.place(), error.what());
  }
}

}  // namespace weft::text
