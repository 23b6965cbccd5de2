#include "weft/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>

#include "weft/text/unicode_differences.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

utf8proc_category_t category(char32_t value) { return utf8proc_category(static_cast<utf8proc_int32_t>(value)); }

}  // namespace

bool is_letter(char32_t value) {
  const auto c = category(value);
  return (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO) ||
         (c == UTF8PROC_CATEGORY_CN && contains(later_letters, value));
}

bool is_number(char32_t value) {
  const auto c = category(value);
  return (c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO) ||
         (c == UTF8PROC_CATEGORY_CN && contains(later_numbers, value));
}

bool is_accent(char32_t value) {
  const auto c = category(value);
  const bool mark = c >= UTF8PROC_CATEGORY_MN && c <= UTF8PROC_CATEGORY_ME;
  // Two Vedic signs were marks before they became letters.
  return (mark && !contains(not_mark_before, value)) || value == 0x1cf2 || value == 0x1cf3;
}

bool is_bert_accent(char32_t value) {
  const bool mark = category(value) == UTF8PROC_CATEGORY_MN;
  // A sign of Hanunoo was a nonspacing mark before it became a spacing one.
  return (mark && !contains(not_nonspacing_before, value)) || value == 0x1734;
}

bool is_punctuation(char32_t value) {
  if (value < 0x80) {
    return (value >= 0x21 && value <= 0x2f) || (value >= 0x3a && value <= 0x40) || (value >= 0x5b && value <= 0x60) ||
           (value >= 0x7b && value <= 0x7e);
  }
  const auto c = category(value);
  const bool punctuation = c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
  // Two characters were punctuation before they became a symbol and a mark.
  return (punctuation && !contains(not_punctuation_before, value)) || value == 0x166d || value == 0x111c9;
}

bool is_control_or_private(char32_t value) {
  const auto c = category(value);
  const bool later =
      value == 0x890 || value == 0x891 || value == 0x8e2 || value == 0x110cd || (value >= 0x13430 && value <= 0x1343f);
  if (later) return false;
  return c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_CS ||
         c == UTF8PROC_CATEGORY_CO;
}

bool is_word_character(char32_t value) {
  if (value < 0x80) {
    return (value >= '0' && value <= '9') || (value >= 'A' && value <= 'Z') || (value >= 'a' && value <= 'z') ||
           value == '_';
  }
  const auto c = category(value);
  const bool circled_letter = (value >= 0x24b6 && value <= 0x24e9) || (value >= 0x1f130 && value <= 0x1f149) ||
                              (value >= 0x1f150 && value <= 0x1f169) || (value >= 0x1f170 && value <= 0x1f189);
  return (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_ND) || c == UTF8PROC_CATEGORY_NL ||
         c == UTF8PROC_CATEGORY_PC || circled_letter || value == 0x200c || value == 0x200d ||
         (c == UTF8PROC_CATEGORY_CN &&
          (contains(later_letters, value) || contains(later_marks, value) || contains(later_numbers, value)));
}

LowerCase to_lower(char32_t value) {
  if (value < 0x80) return {value >= 'A' && value <= 'Z' ? value + 0x20 : value, 0};
  if (value == 0x130) return {U'i', 0x307};
  return {static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(value))), 0};
}

bool stands_alone(char32_t value) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(value))->boundclass == UTF8PROC_BOUNDCLASS_OTHER;
}

std::string_view Graphemes::next() {
  if (rest_.empty()) return {};
  CodePoint current = first_code_point(rest_);
  size_t length = current.length;
  while (length < rest_.size()) {
    const CodePoint after = first_code_point(rest_.substr(length));
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(current.value),
                                         static_cast<utf8proc_int32_t>(after.value), &state_)) {
      break;
    }
    length += after.length;
    current = after;
  }
  const std::string_view cluster = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return cluster;
}

}  // namespace weft::text
