#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "weft/base/json.h"
#include "weft/text/tokenizer.h"
#include "weft/text/vocabulary.h"

namespace weft::text {

// What reading and writing tokenizer files share.
struct TokenizerPaths {
  std::filesystem::path tokenizer;
  std::filesystem::path config;
};

inline TokenizerPaths tokenizer_paths(const std::filesystem::path& path) {
  if (path.extension() == ".json") return {path, path.parent_path() / "tokenizer_config.json"};
  return {path / "tokenizer.json", path / "tokenizer_config.json"};
}

// tokenizer_config.json of a WordTokenizer, CharacterTokenizer or ByteTokenizer has this key.
constexpr std::string_view own_kind_key = "weft_tokenizer";

// The tokenizer that save_tokenizer() wrote `root` for, if it is one of these three.
std::unique_ptr<Tokenizer> load_own_tokenizer(const JsonView& root, const SpecialNames& roles);

// A regular expression for any one character, line ends included.
constexpr std::string_view every_character = "[\\s\\S]";

}  // namespace weft::text
