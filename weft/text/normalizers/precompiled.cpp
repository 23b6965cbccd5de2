#include "weft/text/normalizers/precompiled.h"

#include <algorithm>
#include <cstring>

#include "weft/base/error.h"
#include "weft/text/base64.h"
#include "weft/text/limits.h"
#include "weft/text/little_endian.h"
#include "weft/text/unicode.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

constexpr size_t longest_cluster = 5;  // bytes that a map is asked for whole

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
  for (std::string_view rest = replacements_; !rest.empty();) {
    const size_t length = std::min(rest.find('\0'), rest.size());
    require<FormatError>(length <= longest_replacement,
                         "character map: expected replacements of at most {} bytes, got {}", longest_replacement,
                         length);
    rest.remove_prefix(std::min(length + 1, rest.size()));
  }
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
  find_plain_characters();
}

void PrecompiledNormalizer::find_plain_characters() {
  plain_.assign(0x10000 / 64, 0);
  for (char32_t value = 0; value < 0x10000; ++value) {
    if (!stands_alone(value)) continue;
    char bytes[4];
    if (!map_->find(write_utf8(value, bytes))) plain_[value / 64] |= uint64_t{1} << (value % 64);
  }
}

// The place from `position` on of the first character that is not plain.
size_t PrecompiledNormalizer::plain_end(std::string_view text, size_t position) const {
  while (position < text.size()) {
    const CodePoint next = first_code_point(text.substr(position));
    if (!is_plain(next.value)) break;
    position += next.length;
  }
  return position;
}

// Whether a plain character stands at `position`, with another or the end of the text behind it.
bool PrecompiledNormalizer::begins_run(std::string_view text, size_t position) const {
  const CodePoint here = first_code_point(text.substr(position));
  if (!is_plain(here.value)) return false;
  const std::string_view rest = text.substr(position + here.length);
  return rest.empty() || is_plain(first_code_point(rest).value);
}

// Whether anything in it is replaced.
bool PrecompiledNormalizer::change_cluster(std::string_view cluster, std::vector<CharacterChange>& changes,
                                           const TextBudget& budget) const {
  if (cluster.size() <= longest_cluster) {
    if (const auto whole = map_->find(cluster)) {
      put_replacement(cluster, *whole, changes);
      return true;
    }
  }
  bool changed = false;
  while (!cluster.empty()) {
    const CodePoint next = first_code_point(cluster);
    const std::string_view character = cluster.substr(0, next.length);
    if (const auto replacement = map_->find(character)) {
      put_replacement(character, *replacement, changes);
      budget.allow_size(changes.size());
      changed = true;
    } else {
      changes.push_back({next.value, 0});
    }
    cluster.remove_prefix(next.length);
  }
  return changed;
}

AlignedText PrecompiledNormalizer::normalize(AlignedText text) const {
  if (!map_) return text;
  const std::string_view all = text.text();
  size_t done = 0;  // bytes that are kept or replaced already
  size_t run = 0;   // where plain characters begin
  size_t position = plain_end(all, 0);
  if (position == all.size()) return text;
  TextEdit edit(text);
  std::vector<CharacterChange> changes;
  while (position < all.size()) {
    // The plain character before may be of the same cluster; if that goes, the one before it is charged.
    size_t begin = position;
    for (int i = 0; i < 2 && begin > run; ++i) begin -= last_code_point(all.substr(0, begin)).length;
    changes.clear();
    bool changed = false;
    bool shifted = false;  // a character went that no other could be charged with: places differ from here on
    position = begin;
    Graphemes graphemes(all.substr(begin));
    do {
      const std::string_view cluster = graphemes.next();
      changed = change_cluster(cluster, changes, text.budget()) || changed;
      shifted = shifted || changes.empty();
      position += cluster.size();
    } while (position < all.size() && (shifted || !begins_run(all, position)));
    if (changed) {
      edit.keep(done, begin);
      edit.put_changes(changes, begin);
      done = position;
    }
    run = position;
    position = plain_end(all, position);
  }
  if (done == 0) return text;
  edit.keep(done, all.size());
  return edit.finish();
}

}  // namespace weft::text
