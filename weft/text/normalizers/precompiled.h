#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/normalizers/normalizer.h"

namespace weft::text {

// A SentencePiece character map: a double-array trie from byte strings to their replacements.
class CharacterMap {
 public:
  // `blob`: the trie's size in bytes (32 bits, little-endian), the trie, the replacements, each ended by a zero byte.
  // FormatError for a map that is not whole.
  explicit CharacterMap(std::string_view blob);
  // The replacement of the shortest prefix of `text` that the map knows.
  std::optional<std::string_view> find(std::string_view text) const;

 private:
  std::vector<uint32_t> units_;
  std::string replacements_;
};

// Applies the map to grapheme clusters of under 6 bytes whole (the rest of a cluster behind a known prefix is lost),
// and to others character by character: what the reference does, so that published vocabularies fit.
class PrecompiledNormalizer final : public Normalizer {
 public:
  explicit PrecompiledNormalizer(const JsonView& description);
  AlignedText normalize(AlignedText text) const override;

 private:
  void find_plain_characters();
  bool is_plain(char32_t value) const { return value < 0x10000 && (plain_[value / 64] >> (value % 64) & 1u) != 0; }
  size_t plain_end(std::string_view text, size_t position) const;
  bool begins_run(std::string_view text, size_t position) const;
  bool change_cluster(std::string_view cluster, std::vector<CharacterChange>& changes, const TextBudget& budget) const;

  std::optional<CharacterMap> map_;  // none: an empty map
  // By character: the map does not know it, and beside others of its kind it is a grapheme cluster of its own.
  std::vector<uint64_t> plain_;
};

}  // namespace weft::text
