#include <algorithm>

#include "weft/base/error.h"
#include "weft/text/encoding.h"

namespace weft::text {

namespace {

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

}  // namespace

void pad(std::vector<Encoding>& encodings, const Padding& padding) {
  size_t length = 0;
  if (padding.length) {
    require(*padding.length >= 0 && *padding.length <= (int64_t{1} << 31), "padding: expected a length, got {}",
            *padding.length);
    length = static_cast<size_t>(*padding.length);
  } else {
    for (const Encoding& encoding : encodings) length = std::max(length, encoding.size());
  }
  if (padding.multiple_of > 0) {
    const auto multiple = static_cast<size_t>(padding.multiple_of);
    length = (length + multiple - 1) / multiple * multiple;
  }
  for (Encoding& encoding : encodings) pad_to(encoding, length, padding);
}

}  // namespace weft::text
