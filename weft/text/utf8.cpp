#include "weft/text/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace weft::text {

namespace {

// What a lead byte promises: the length, its own bits, and the range of the second byte, which excludes overlong forms,
// surrogates and values above U+10FFFF.
struct Lead {
  size_t length;
  unsigned char bits;
  unsigned char second_low;
  unsigned char second_high;
};

Lead lead_of(unsigned char byte) {
  const auto bits = [&](unsigned char mask) { return static_cast<unsigned char>(byte & mask); };
  if (byte < 0x80) return {1, byte, 0, 0};
  if (byte < 0xc2) return {0, 0, 0, 0};
  if (byte < 0xe0) return {2, bits(0x1f), 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0, 0xa0, 0xbf};
  if (byte == 0xed) return {3, bits(0x0f), 0x80, 0x9f};
  if (byte < 0xf0) return {3, bits(0x0f), 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0, 0x90, 0xbf};
  if (byte < 0xf4) return {4, bits(0x07), 0x80, 0xbf};
  if (byte == 0xf4) return {4, bits(0x07), 0x80, 0x8f};
  return {0, 0, 0, 0};
}

}  // namespace

CodePoint first_code_point_beyond_ascii(std::string_view text) {
  if (text.empty()) return {replacement_character, 0, true, true};
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  if (lead.length == 0) return {replacement_character, 1, true, false};
  char32_t value = lead.bits;
  for (size_t i = 1; i < lead.length; ++i) {
    if (i == text.size()) return {replacement_character, i, true, true};
    const auto byte = static_cast<unsigned char>(text[i]);
    const unsigned char low = i == 1 ? lead.second_low : 0x80;
    const unsigned char high = i == 1 ? lead.second_high : 0xbf;
    if (byte < low || byte > high) return {replacement_character, i, true, false};
    value = (value << 6) | (byte & 0x3fu);
  }
  return {value, lead.length, false, false};
}

CodePoint last_code_point(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0u) == 0x80u) --begin;
  return first_code_point(text.substr(begin));
}

std::vector<char32_t> to_code_points(std::string_view text) {
  std::vector<char32_t> result;
  result.reserve(text.size());
  while (!text.empty()) {
    const CodePoint next = first_code_point(text);
    result.push_back(next.value);
    text.remove_prefix(next.length);
  }
  return result;
}

std::string_view write_utf8(char32_t value, std::span<char, 4> buffer) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80u | ((value >> shift) & 0x3fu)); };
  if (value < 0x80) {
    buffer[0] = static_cast<char>(value);
    return {buffer.data(), 1};
  }
  if (value < 0x800) {
    buffer[0] = static_cast<char>(0xc0u | (value >> 6));
    buffer[1] = tail(0);
    return {buffer.data(), 2};
  }
  if (value < 0x10000) {
    buffer[0] = static_cast<char>(0xe0u | (value >> 12));
    buffer[1] = tail(6);
    buffer[2] = tail(0);
    return {buffer.data(), 3};
  }
  buffer[0] = static_cast<char>(0xf0u | (value >> 18));
  buffer[1] = tail(12);
  buffer[2] = tail(6);
  buffer[3] = tail(0);
  return {buffer.data(), 4};
}

void append_utf8(char32_t value, std::string& text) {
  char buffer[4];
  text += write_utf8(value, buffer);
}

std::string to_utf8(char32_t value) {
  std::string text;
  append_utf8(value, text);
  return text;
}

bool is_utf8(std::string_view text) {
  for (size_t position = ascii_length(text); position < text.size();) {
    const CodePoint next = first_code_point(text.substr(position));
    if (next.bad) return false;
    position += next.length;
    position += ascii_length(text.substr(position));
  }
  return true;
}

size_t ascii_length(std::string_view text) {
  size_t length = 0;
  for (; length + 8 <= text.size(); length += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + length, 8);
    if ((word & 0x8080808080808080) != 0) break;
  }
  while (length < text.size() && static_cast<unsigned char>(text[length]) < 0x80) ++length;
  return length;
}

std::string repair_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const CodePoint next = first_code_point(text);
    append_utf8(next.value, result);
    text.remove_prefix(next.length);
  }
  return result;
}

bool is_whitespace_beyond_ascii(char32_t value) {
  constexpr std::array<std::pair<char32_t, char32_t>, 8> ranges = {{{0x85, 0x85},
                                                                    {0xa0, 0xa0},
                                                                    {0x1680, 0x1680},
                                                                    {0x2000, 0x200a},
                                                                    {0x2028, 0x2029},
                                                                    {0x202f, 0x202f},
                                                                    {0x205f, 0x205f},
                                                                    {0x3000, 0x3000}}};
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const auto& range) { return value >= range.first && value <= range.second; });
}

std::vector<std::string_view> split_whitespace(std::string_view text) {
  std::vector<std::string_view> pieces;
  size_t start = 0;
  size_t position = 0;
  const auto close_piece = [&] {
    if (position > start) pieces.push_back(text.substr(start, position - start));
  };
  while (position < text.size()) {
    const CodePoint next = first_code_point(text.substr(position));
    if (is_whitespace(next.value)) {
      close_piece();
      start = position + next.length;
    }
    position += next.length;
  }
  close_piece();
  return pieces;
}

std::string Utf8Stream::push(std::string_view bytes) {
  held_ += bytes;
  std::string_view rest = held_;
  std::string whole;
  while (!rest.empty()) {
    const CodePoint next = first_code_point(rest);
    if (next.cut) break;
    append_utf8(next.value, whole);
    rest.remove_prefix(next.length);
  }
  held_ = std::string(rest);
  return whole;
}

std::string Utf8Stream::finish() { return repair_utf8(std::exchange(held_, {})); }

}  // namespace weft::text
