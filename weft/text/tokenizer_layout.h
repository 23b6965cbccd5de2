#pragma once

#include <filesystem>
#include <string_view>

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

// A regular expression for any one character, line ends included.
constexpr std::string_view every_character = "[\\s\\S]";

}  // namespace weft::text
