#include "weft/text/regex_classes.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "weft/text/regex_differences.h"

namespace weft::text {

namespace {

using Ranges = std::span<const CharacterRange>;

std::string with(std::string_view items, std::initializer_list<Ranges> later) {
  std::string result(items);
  for (const Ranges ranges : later) {
    for (const CharacterRange& range : ranges) {
      result += code_point_item(range.first) + "-" + code_point_item(range.last);
    }
  }
  return result;
}

std::string lower_case(std::string_view name) {
  std::string folded;
  for (const char c : name) folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c;
  return folded;
}

// Names that Oniguruma knows besides the categories and scripts that PCRE2 has too.
std::optional<std::string> named_items(std::string_view folded) {
  if (folded == "alpha" || folded == "alphabetic") return with(R"(\p{Alphabetic})", {later_alphabetic});
  if (folded == "alnum") return with(R"(\p{Alphabetic}\p{Nd})", {later_alphabetic, later_digits});
  if (folded == "digit") return digit_items();
  if (folded == "upper" || folded == "uppercase") return with(R"(\p{Uppercase})", {later_uppercase});
  if (folded == "lower" || folded == "lowercase") return with(R"(\p{Lowercase})", {later_lowercase});
  if (folded == "space") return std::string(space_items());
  if (folded == "punct" || folded == "punctuation") return with(R"(\p{P})", {later_punctuation});
  if (folded == "cntrl") return R"(\p{Cc})";
  if (folded == "word") return word_items();
  if (folded == "xdigit") return std::string(hex_items);
  if (folded == "blank") return R"(\p{Zs}\x{9})";
  if (folded == "ascii") return R"(\x{0}-\x{7f})";
  if (folded == "letter") return with(R"(\p{L})", {later_letters});
  if (folded == "mark") return with(R"(\p{M})", {later_marks});
  if (folded == "number") return with(R"(\p{N})", {later_numbers});
  if (folded == "symbol") return with(R"(\p{S})", {later_symbols});
  if (folded == "separator") return R"(\p{Z})";
  return std::nullopt;
}

// Characters of a category that the library may be too old to know.
Ranges later_characters(std::string_view category) {
  const std::array<std::pair<std::string_view, Ranges>, 13> tables = {{{"L", later_letters},
                                                                       {"Lu", later_uppercase_letters},
                                                                       {"Ll", later_lowercase_letters},
                                                                       {"Lm", later_modifier_letters},
                                                                       {"Lo", later_other_letters},
                                                                       {"M", later_marks},
                                                                       {"Mn", later_nonspacing_marks},
                                                                       {"Mc", later_spacing_marks},
                                                                       {"N", later_numbers},
                                                                       {"Nd", later_digits},
                                                                       {"No", later_other_numbers},
                                                                       {"P", later_punctuation},
                                                                       {"S", later_symbols}}};
  const auto found =
      std::find_if(tables.begin(), tables.end(), [&](const auto& entry) { return entry.first == category; });
  return found == tables.end() ? Ranges() : found->second;
}

// Whether PCRE2 knows the name as a script's that is not extended. Its plain \p{Han} is: it has the characters of other
// scripts, too, that are used with Han.
bool is_script(std::string_view name) {
  const std::string pattern = fmt::format("\\p{{sc:{}}}", name);
  int error = 0;
  size_t offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP,
                                   &error, &offset, nullptr);
  pcre2_code_free(code);
  return code != nullptr;
}

}  // namespace

std::string code_point_item(uint32_t value) { return fmt::format("\\x{{{:x}}}", value); }

std::string_view space_items() {
  return R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
}

std::string_view not_space_items() {
  return R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027})"
         R"(\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
}

const std::string& digit_items() {
  static const std::string items = with(R"(\p{Nd})", {later_digits});
  return items;
}

const std::string& word_items() {
  static const std::string items =
      with(R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})",
           {later_letters, later_marks, later_digits});
  return items;
}

const std::string& outer_word_items() {
  static const std::string items = word_items() + R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
  return items;
}

std::string property_items(std::string_view name) {
  if (const auto items = named_items(lower_case(name))) return *items;
  const Ranges later = later_characters(name);
  if (!later.empty()) return with(fmt::format("\\p{{{}}}", name), {later});
  const std::string items = fmt::format("\\p{{{}{}}}", is_script(name) ? "sc:" : "", name);
  return lower_case(name) == "han" ? with(items, {later_ideographs}) : items;
}

std::optional<std::string> bracket_items(std::string_view name) {
  if (name == "punct") return with(R"(\p{P}\p{S})", {later_punctuation, later_symbols});
  return named_items(name);
}

}  // namespace weft::text
