#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::text {

// Sets of characters as Oniguruma means them, as what stands between the brackets of a PCRE2 class.

// The names of \p{…}: categories, scripts, properties. Names that are not known here are left for PCRE2.
std::string property_items(std::string_view name);
// The names of [:…:]; nothing for others.
std::optional<std::string> bracket_items(std::string_view name);

// White space is the property White_Space, which PCRE2's own \s is not (U+180E).
std::string_view space_items();
std::string_view not_space_items();
const std::string& digit_items();
const std::string& word_items();
// Outside of brackets, some numbers of Latin-1 are word characters as well.
const std::string& outer_word_items();
constexpr std::string_view hex_items = "0-9A-Fa-f";

// `\x{1f600}`
std::string code_point_item(uint32_t value);

}  // namespace weft::text
