#include "weft/text/encoding.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weft/base/error.h"

namespace weft::text {

namespace {

constexpr size_t most_windows = 1 << 20;
constexpr size_t window_bytes = 512;  // that the lists of a window take themselves
constexpr size_t spare_bytes = size_t{1} << 28;
constexpr size_t growth = 4;

template <typename T>
std::vector<T> part_of(const std::vector<T>& values, size_t begin, size_t end) {
  if (values.empty()) return {};
  return {values.begin() + static_cast<ptrdiff_t>(begin), values.begin() + static_cast<ptrdiff_t>(end)};
}

template <typename T>
void add(std::vector<T>& values, std::vector<T>&& others) {
  values.insert(values.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
}

void append_entries(Encoding& encoding, Encoding&& other) {
  add(encoding.ids, std::move(other.ids));
  add(encoding.type_ids, std::move(other.type_ids));
  add(encoding.attention_mask, std::move(other.attention_mask));
  add(encoding.special_tokens_mask, std::move(other.special_tokens_mask));
  add(encoding.tokens, std::move(other.tokens));
  add(encoding.offsets, std::move(other.offsets));
  add(encoding.word_ids, std::move(other.word_ids));
}

Encoding joined(const Encoding& first, const Encoding& second) {
  Encoding result = first.slice(0, first.size());
  append_entries(result, second.slice(0, second.size()));
  return result;
}

}  // namespace

void require_room_for_windows(size_t windows, size_t bytes, size_t whole) {
  const size_t most = spare_bytes + growth * whole;
  const size_t needed = bytes + windows * window_bytes;
  require(
      needed <= most,
      "encode: truncation leaves {} windows of the text, which take {} MiB; at most {} MiB are made; take a smaller "
      "stride or cut the text",
      windows, needed >> 20, most >> 20);
}

size_t Encoding::bytes() const {
  size_t bytes = sizeof(int32_t) * (ids.size() + type_ids.size() + attention_mask.size() + special_tokens_mask.size()) +
                 sizeof(ByteRange) * offsets.size() + sizeof(int32_t) * word_ids.size();
  for (const std::string& token : tokens) bytes += sizeof(std::string) + token.size();
  for (const Encoding& window : overflowing) bytes += window.bytes();
  return bytes;
}

Encoding Encoding::slice(size_t begin, size_t end) const {
  return {.ids = part_of(ids, begin, end),
          .type_ids = part_of(type_ids, begin, end),
          .attention_mask = part_of(attention_mask, begin, end),
          .special_tokens_mask = part_of(special_tokens_mask, begin, end),
          .tokens = part_of(tokens, begin, end),
          .offsets = part_of(offsets, begin, end),
          .word_ids = part_of(word_ids, begin, end),
          .overflowing = {}};
}

void Encoding::append(Encoding other) {
  const size_t windows = (overflowing.size() + 1) * (other.overflowing.size() + 1) - 1;
  require(windows <= most_windows,
          "encode: truncation leaves {} windows of the first text and {} of the second, {} pairs; at most {} are made; "
          "cut the texts",
          overflowing.size() + 1, other.overflowing.size() + 1, windows, most_windows);
  if (windows > 0) {
    const size_t mine = bytes();
    const size_t others = other.bytes();
    require_room_for_windows(windows + 1, (other.overflowing.size() + 1) * mine + (overflowing.size() + 1) * others,
                             mine + others);
  }
  std::vector<Encoding> together;
  together.reserve(windows);
  for (const Encoding& window : overflowing) {
    together.push_back(joined(window, other));
    for (const Encoding& other_window : other.overflowing) together.push_back(joined(window, other_window));
  }
  for (const Encoding& other_window : other.overflowing) together.push_back(joined(*this, other_window));
  append_entries(*this, std::move(other));
  overflowing = std::move(together);
}

}  // namespace weft::text
