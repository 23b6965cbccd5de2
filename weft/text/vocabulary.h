#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/text/tokenizer.h"

namespace weft::text {

// The names of the special tokens; those absent do not exist.
struct SpecialNames {
  std::optional<std::string> bos;
  std::optional<std::string> eos;
  std::optional<std::string> pad;
  std::optional<std::string> unk;
};

// Names, numbered from 0, each once, with their special ids.
class Vocabulary {
 public:
  // Special names that `tokens` lack are added at its end, in the order pad, bos, eos, unk. weft::Error for a name that
  // stands twice, is empty or is not UTF-8.
  Vocabulary(std::vector<std::string> tokens, const SpecialNames& names);

  int32_t size() const { return static_cast<int32_t>(tokens_.size()); }
  const std::vector<std::string>& tokens() const { return tokens_; }
  const std::string& token(int32_t id) const;
  std::optional<int32_t> find(std::string_view token) const;
  const SpecialIds& special() const { return special_; }
  // Whether decoding with SpecialTokens::skip leaves the id out.
  bool is_skipped(int32_t id) const { return id == special_.bos || id == special_.eos || id == special_.pad; }
  // What an id reads as: its name, or unk's (`<UNK>` if there is none) for ids out of range.
  std::string_view shown(int32_t id) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  void add(std::string token);
  int32_t find_or_add(const std::string& token);

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
  SpecialIds special_;
};

}  // namespace weft::text
