#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::text {

// The visible characters that stand for bytes in byte-level vocabularies (GPT-2, Radford et al. 2019): a byte is itself
// where it is a printable character of Latin-1, else the next free character from U+0100 on.
char32_t visible_byte(uint8_t byte);
// The byte that a character stands for.
std::optional<uint8_t> byte_of_visible(char32_t value);
// visible_byte() as UTF-8.
std::string_view visible_byte_utf8(uint8_t byte);

// `<0x0A>` for byte 10: how vocabularies with byte fallback name bytes.
std::string_view byte_fallback_name(uint8_t byte);
// The byte that a token of six bytes `<0x..>` names.
std::optional<uint8_t> byte_of_fallback_name(std::string_view token);

}  // namespace weft::text
