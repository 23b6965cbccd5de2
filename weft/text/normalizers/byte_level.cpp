#include "weft/text/normalizers/byte_level.h"

#include "weft/text/byte_names.h"

namespace weft::text {

void put_visible_bytes(const AlignedText& source, size_t begin, size_t end, TextEdit& edit) {
  const std::string_view text = source.text();
  const auto stands_for_itself = [&](size_t i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    return byte > 0x20 && byte < 0x7f;
  };
  for (size_t i = begin; i < end;) {
    const size_t same = i;
    while (i < end && stands_for_itself(i)) ++i;
    edit.keep(same, i);
    for (; i < end && !stands_for_itself(i); ++i) edit.put(visible_byte_utf8(static_cast<uint8_t>(text[i])), i);
  }
}

AlignedText ByteLevelNormalizer::normalize(AlignedText text) const {
  TextEdit edit(text);
  put_visible_bytes(text, 0, text.text().size(), edit);
  return edit.finish();
}

}  // namespace weft::text
