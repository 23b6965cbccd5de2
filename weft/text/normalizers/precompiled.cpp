#include "weft/text/normalizers/precompiled.h"

#include <algorithm>
#include <cstring>

#include "weft/base/error.h"
#include "weft/text/base64.h"
#include "weft/text/unicode.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

constexpr size_t longest_cluster = 5;  // bytes that a map is asked for whole

uint32_t read_u32(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

// The bit fields of a unit of the double array (Yata, Darts-clone).
bool has_leaf(uint32_t unit) { return (unit >> 8 & 1u) != 0; }
uint32_t value_of(uint32_t unit) { return unit & 0x7fffffffu; }
uint32_t label_of(uint32_t unit) { return unit & 0x800000ffu; }
uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & 0x200u) >> 6); }

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

// Notes that `replacement` stands in the place of `part`: surplus characters are additions at its end, and what is
// missing is charged to the last character so far.
void put_replacement(std::string_view part, std::string_view replacement, std::vector<CharacterChange>& changes) {
  const auto old_count = static_cast<int32_t>(count_characters(part));
  const auto new_count = static_cast<int32_t>(count_characters(replacement));
  for (int32_t i = 0; i < new_count; ++i) {
    const CodePoint next = first_code_point(replacement);
    replacement.remove_prefix(next.length);
    changes.push_back({next.value, i < old_count ? 0 : 1});
  }
  if (new_count < old_count && !changes.empty()) changes.back().change += new_count - old_count;
}

}  // namespace

CharacterMap::CharacterMap(std::string_view blob) {
  require<FormatError>(blob.size() >= 4, "character map: expected at least 4 bytes, got {}", blob.size());
  const size_t size = read_u32(blob);
  blob.remove_prefix(4);
  require<FormatError>(size <= blob.size() && size % 4 == 0 && size > 0,
                       "character map: a trie of {} bytes does not fit the {} that follow", size, blob.size());
  for (size_t i = 0; i < size; i += 4) units_.push_back(read_u32(blob.substr(i)));
  replacements_ = blob.substr(size);
  require<FormatError>(is_utf8(replacements_), "character map: the replacements are not UTF-8");
}

std::optional<std::string_view> CharacterMap::find(std::string_view text) const {
  size_t node = offset_of(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return std::nullopt;
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) return std::nullopt;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (node >= units_.size()) return std::nullopt;
    if (has_leaf(unit)) {
      const size_t begin = value_of(units_[node]);
      if (begin >= replacements_.size() || (static_cast<unsigned char>(replacements_[begin]) & 0xc0u) == 0x80u) {
        return std::nullopt;
      }
      const size_t end = std::min(replacements_.find('\0', begin), replacements_.size());
      return std::string_view(replacements_).substr(begin, end - begin);
    }
  }
  return std::nullopt;
}

PrecompiledNormalizer::PrecompiledNormalizer(const JsonView& description) {
  description.allow_only({"type", "precompiled_charsmap"});
  const JsonView text = description.at("precompiled_charsmap");
  if (!description.has("precompiled_charsmap") || text.as<std::string>().empty()) return;
  try {
    map_.emplace(decode_base64(text.as<std::string>()));
  } catch (const FormatError& error) {
    fail<FormatError>("{}: {}", text.place(), error.what());
  }
  keeps_ascii_ = true;
  for (char c = ' '; c < 0x7f; ++c) keeps_ascii_ = keeps_ascii_ && !map_->find(std::string_view(&c, 1));
}

AlignedText PrecompiledNormalizer::normalize(AlignedText text) const {
  if (!map_) return text;
  const auto is_printable = [](char c) { return c >= ' ' && c < 0x7f; };
  if (keeps_ascii_ && std::all_of(text.text().begin(), text.text().end(), is_printable)) return text;
  std::vector<CharacterChange> changes;
  changes.reserve(text.text().size());
  bool modified = false;
  Graphemes graphemes(text.text());
  for (std::string_view cluster = graphemes.next(); !cluster.empty(); cluster = graphemes.next()) {
    const auto whole = cluster.size() <= longest_cluster ? map_->find(cluster) : std::nullopt;
    if (whole) {
      put_replacement(cluster, *whole, changes);
      modified = true;
      continue;
    }
    while (!cluster.empty()) {
      const CodePoint next = first_code_point(cluster);
      const std::string_view character = cluster.substr(0, next.length);
      if (const auto replacement = map_->find(character)) {
        put_replacement(character, *replacement, changes);
        modified = true;
      } else {
        changes.push_back({next.value, 0});
      }
      cluster.remove_prefix(next.length);
    }
  }
  return modified ? rewrite(text, changes) : text;
}

}  // namespace weft::text
