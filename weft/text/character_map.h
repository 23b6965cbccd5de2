#pragma once

#include <string_view>

#include "weft/text/aligned_text.h"
#include "weft/text/utf8.h"

namespace weft::text {

// Rewrites a text character by character: map(value, put) calls put(value) for each character that stands in its place.
template <typename Map>
AlignedText map_characters(const AlignedText& source, Map&& map) {
  TextEdit edit(source);
  const std::string_view text = source.text();
  size_t position = 0;
  while (position < text.size()) {
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
