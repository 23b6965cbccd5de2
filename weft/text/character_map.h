#pragma once

#include <string_view>

#include "weft/text/aligned_text.h"
#include "weft/text/utf8.h"

namespace weft::text {

// What maps leave as it is, of ASCII characters.
inline bool is_any(char) { return true; }
inline bool is_printable(char c) { return c >= ' ' && c < '\x7f'; }
inline bool is_not_capital(char c) { return c < 'A' || c > 'Z'; }

// Rewrites a text character by character: map(value, put) calls put(value) for each character that stands in its place.
// keeps(c): whether that would be c alone, for ASCII characters.
template <typename Keeps, typename Map>
AlignedText map_characters(const AlignedText& source, Keeps&& keeps, Map&& map) {
  TextEdit edit(source);
  const std::string_view text = source.text();
  const auto is_kept = [&](char c) { return static_cast<unsigned char>(c) < 0x80 && keeps(c); };
  for (size_t position = 0;;) {
    const size_t same = position;
    while (position < text.size() && is_kept(text[position])) ++position;
    edit.keep(same, position);
    if (position == text.size()) break;
    const CodePoint next = first_code_point(text.substr(position));
    map(next.value, [&](char32_t value) {
      char bytes[4];
      edit.put(write_utf8(value, bytes), position);
    });
    position += next.length;
  }
  return edit.finish();
}

}  // namespace weft::text
