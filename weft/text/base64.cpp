#include "weft/text/base64.h"

#include <array>
#include <cstdint>

#include "weft/base/error.h"

namespace weft::text {

namespace {

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string decode_base64(std::string_view text) {
  std::array<int, 256> values{};
  values.fill(-1);
  for (size_t i = 0; i < digits.size(); ++i) values[static_cast<unsigned char>(digits[i])] = static_cast<int>(i);
  require<FormatError>(text.size() % 4 == 0, "base64: expected a multiple of 4 characters, got {}", text.size());
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  uint32_t word = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool pad = i >= text.size() - padding;
    const int value = pad ? 0 : values[static_cast<unsigned char>(text[i])];
    require<FormatError>(value >= 0, "base64: character {} is none of its 64", i);
    word = word << 6 | static_cast<uint32_t>(value);
    if (i % 4 == 3) {
      for (const int shift : {16, 8, 0}) bytes += static_cast<char>(word >> shift & 0xffu);
      word = 0;
    }
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; ++j) word = word << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j) text += j <= count ? digits[word >> (18 - 6 * j) & 0x3fu] : '=';
  }
  return text;
}

}  // namespace weft::text
