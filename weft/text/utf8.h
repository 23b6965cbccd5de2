#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

// U+FFFD: what every byte that is no part of a well-formed character is read as, everywhere in weft.
constexpr char32_t replacement_character = 0xfffd;

struct CodePoint {
  char32_t value;    // replacement_character for a bad byte
  size_t length;     // bytes of it, 1 for a bad byte, 0 only if `text` is empty
  bool bad = false;  // a byte that is no part of a well-formed character (Unicode 15, table 3-7)
  bool cut = false;  // bad only because `text` ends: more bytes could complete the character
};

// The character at the start of `text`.
CodePoint first_code_point(std::string_view text);

std::vector<char32_t> to_code_points(std::string_view text);
void append_utf8(char32_t value, std::string& text);
std::string to_utf8(char32_t value);

// The text with each bad byte replaced by U+FFFD; well-formed text as it is.
std::string repair_utf8(std::string_view text);

bool is_whitespace(char32_t value);  // the Unicode property White_Space

// The pieces between runs of white space. They point into `text`.
std::vector<std::string_view> split_whitespace(std::string_view text);

// Turns bytes that come in arbitrary pieces into whole characters: a character that is not complete yet is held back.
// All pieces and finish() put together equal repair_utf8() of all bytes.
class Utf8Stream {
 public:
  std::string push(std::string_view bytes);
  std::string finish();  // what was held back, as bad bytes; the stream is then as new

 private:
  std::string held_;
};

}  // namespace weft::text
