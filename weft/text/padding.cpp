#include <algorithm>

#include "weft/base/error.h"
#include "weft/text/encoding.h"

namespace weft::text {

namespace {

constexpr size_t longest_padding = size_t{1} << 20;  // tokens that a text may be filled up to
constexpr size_t most_added = size_t{1} << 22;       // to a text with all its windows,
constexpr size_t ordinary_name = 64;                 // of names up to this; fewer of longer ones

template <typename T>
void fill(std::vector<T>& values, size_t count, Side side, const T& value) {
  values.insert(side == Side::left ? values.begin() : values.end(), count, value);
}

void pad_to(Encoding& encoding, size_t length, const Padding& padding) {
  for (Encoding& window : encoding.overflowing) pad_to(window, length, padding);
  if (encoding.size() >= length) return;
  const size_t count = length - encoding.size();
  const bool masked = !encoding.attention_mask.empty() || encoding.ids.empty();
  const bool detailed = !encoding.tokens.empty() || encoding.ids.empty();
  fill(encoding.ids, count, padding.direction, padding.id);
  if (!masked) return;
  fill(encoding.type_ids, count, padding.direction, padding.type_id);
  fill(encoding.attention_mask, count, padding.direction, 0);
  fill(encoding.special_tokens_mask, count, padding.direction, 1);
  if (!detailed) return;
  fill(encoding.tokens, count, padding.direction, padding.token);
  fill(encoding.offsets, count, padding.direction, ByteRange{});
  fill(encoding.word_ids, count, padding.direction, Encoding::no_word);
}

// Tokens that filling up a text and its windows to `length` adds.
size_t missing(const Encoding& encoding, size_t length) {
  size_t count = length - std::min(length, encoding.size());
  for (const Encoding& window : encoding.overflowing) count += missing(window, length);
  return count;
}

}  // namespace

void pad(std::vector<Encoding>& encodings, const Padding& padding) {
  size_t longest = 0;
  for (const Encoding& encoding : encodings) longest = std::max(longest, encoding.size());
  require(!padding.length || *padding.length >= 0, "padding: expected a length from 0 on, got {}",
          padding.length.value_or(0));
  size_t length = padding.length ? static_cast<size_t>(*padding.length) : longest;
  if (padding.multiple_of > 0) {
    const auto multiple = static_cast<size_t>(padding.multiple_of);
    length = (length + multiple - 1) / multiple * multiple;
  }
  require(length <= std::max(longest, longest_padding),
          "padding: texts are filled up to {} tokens at most, not to {}; take a smaller length or multiple",
          longest_padding, length);
  const size_t most = most_added / (1 + padding.token.size() / ordinary_name);
  for (Encoding& encoding : encodings) {
    const size_t added = missing(encoding, length);
    require(
        added <= most,
        "padding: filling {} windows up to {} tokens adds {}; at most {} are added to a text; take a smaller length",
        encoding.overflowing.size() + 1, length, added, most);
    pad_to(encoding, length, padding);
  }
}

}  // namespace weft::text
