#include "weft/text/byte_names.h"

#include <string>

#include "weft/text/utf8.h"

namespace weft::text {

namespace {

constexpr bool is_visible(int byte) { return (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad); }

constexpr int last_visible = 0x143;  // 0x100 and the 68 bytes that are not visible

constexpr std::array<char16_t, 256> visible = [] {
  std::array<char16_t, 256> names{};
  char16_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    names[static_cast<size_t>(byte)] = is_visible(byte) ? static_cast<char16_t>(byte) : next++;
  }
  return names;
}();

constexpr std::array<int16_t, last_visible + 1> bytes = [] {
  std::array<int16_t, last_visible + 1> values{};
  for (int16_t& value : values) value = -1;
  for (size_t byte = 0; byte < visible.size(); ++byte) values[visible[byte]] = static_cast<int16_t>(byte);
  return values;
}();

struct Name {
  char text[6];
  uint8_t length;
};

const std::array<Name, 256> visible_names = [] {
  std::array<Name, 256> names{};
  for (size_t byte = 0; byte < names.size(); ++byte) {
    const std::string text = to_utf8(visible[byte]);
    text.copy(names[byte].text, text.size());
    names[byte].length = static_cast<uint8_t>(text.size());
  }
  return names;
}();

constexpr std::array<Name, 256> fallback_names = [] {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::array<Name, 256> names{};
  for (size_t byte = 0; byte < names.size(); ++byte) {
    names[byte] = {{'<', '0', 'x', digits[byte / 16], digits[byte % 16], '>'}, 6};
  }
  return names;
}();

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

char32_t visible_byte(uint8_t byte) { return visible[byte]; }

std::optional<uint8_t> byte_of_visible(char32_t value) {
  if (value > last_visible || bytes[value] < 0) return std::nullopt;
  return static_cast<uint8_t>(bytes[value]);
}

std::string_view visible_byte_utf8(uint8_t byte) { return {visible_names[byte].text, visible_names[byte].length}; }

std::string_view byte_fallback_name(uint8_t byte) { return {fallback_names[byte].text, 6}; }

std::optional<uint8_t> byte_of_fallback_name(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  const int high = token[3] == '+' ? 0 : digit_value(token[3]);  // the reference reads a plus sign as well
  const int low = digit_value(token[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<uint8_t>(high * 16 + low);
}

}  // namespace weft::text
