#pragma once

#include <string>
#include <string_view>

namespace weft::text {

constexpr size_t shown_pattern = 200;  // bytes of a pattern in messages

// A regular expression of tokenizer.json (Oniguruma syntax, where classes are Unicode's, nest and intersect, `^` and
// `$` are those of lines, `\h` is a hexadecimal digit) in PCRE2's syntax. FormatError for what cannot be expressed;
// other mistakes are left to the compiler.
std::string translate_regex(std::string_view pattern);

}  // namespace weft::text
