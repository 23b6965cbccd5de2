#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

// U+FFFD: what bytes that are no part of a well-formed character are read as, everywhere in weft: one for each maximal
// subpart (Unicode 15, section 3.9), that is one for a character that breaks off, and one for each other bad byte.
constexpr char32_t replacement_character = 0xfffd;

struct CodePoint {
  char32_t value;    // replacement_character for bad bytes
  size_t length;     // bytes of it, 1 to 3 for bad ones, 0 only if `text` is empty
  bool bad = false;  // bytes that are no part of a well-formed character (Unicode 15, table 3-7)
  bool cut = false;  // bad only because `text` ends: more bytes could complete the character
};

// first_code_point() of a text that does not begin with an ASCII character.
CodePoint first_code_point_beyond_ascii(std::string_view text);

// The character at the start of `text`.
inline CodePoint first_code_point(std::string_view text) {
  if (!text.empty() && static_cast<unsigned char>(text[0]) < 0x80) return {static_cast<char32_t>(text[0]), 1};
  return first_code_point_beyond_ascii(text);
}

// The character at the end of a well-formed text that is not empty.
CodePoint last_code_point(std::string_view text);

std::vector<char32_t> to_code_points(std::string_view text);
void append_utf8(char32_t value, std::string& text);
std::string to_utf8(char32_t value);
// The character's bytes, written to `buffer`.
std::string_view write_utf8(char32_t value, std::span<char, 4> buffer);

bool is_utf8(std::string_view text);

// Bytes of ASCII characters at the start of `text`.
size_t ascii_length(std::string_view text);
inline bool is_ascii(std::string_view text) { return ascii_length(text) == text.size(); }

// The text with bad bytes replaced by U+FFFD; well-formed text as it is.
std::string repair_utf8(std::string_view text);

bool is_whitespace_beyond_ascii(char32_t value);
// The Unicode property White_Space.
inline bool is_whitespace(char32_t value) {
  return value < 0x80 ? value == ' ' || (value >= 0x09 && value <= 0x0d) : is_whitespace_beyond_ascii(value);
}

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
