#include "weft/text/normalizers/bert.h"

#include <algorithm>

#include "weft/text/character_map.h"
#include "weft/text/unicode.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

bool is_ideograph(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
         (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

bool is_dropped(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return c == 0 || c == replacement_character || is_control_or_private(c);
}

char clean_ascii(char c) { return c == '\t' || c == '\n' || c == '\r' ? ' ' : c; }

}  // namespace

BertNormalizer::BertNormalizer(const JsonView& description) {
  description.allow_only({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  clean_ = description.get<bool>("clean_text");
  ideographs_ = description.get<bool>("handle_chinese_chars");
  lowercase_ = description.get<bool>("lowercase");
  strip_accents_ = description.get_or<bool>("strip_accents", lowercase_);
}

AlignedText BertNormalizer::normalize(AlignedText text) const {
  const bool plain = std::all_of(text.text().begin(), text.text().end(), [](char c) {
    return (c >= ' ' && c < '\x7f') || c == '\t' || c == '\n' || c == '\r';
  });
  if (plain) {
    text.map_bytes([&](char c) {
      if (clean_) c = clean_ascii(c);
      return lowercase_ && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c;
    });
    return text;
  }
  if (clean_ || ideographs_) {
    text = map_characters(text, is_printable, [&](char32_t value, auto&& put) {
      if (clean_ && is_dropped(value)) return;
      const bool apart = ideographs_ && is_ideograph(value);
      if (apart) put(U' ');
      put(clean_ && is_whitespace(value) ? U' ' : value);
      if (apart) put(U' ');
    });
  }
  if (strip_accents_) {
    text = map_characters(normal_form(text, NormalForm::nfd), is_any, [](char32_t value, auto&& put) {
      if (!is_bert_accent(value)) put(value);
    });
  }
  if (!lowercase_) return text;
  return map_characters(text, is_not_capital, [](char32_t value, auto&& put) {
    const LowerCase lower = to_lower(value);
    put(lower.first);
    if (lower.second != 0) put(lower.second);
  });
}

}  // namespace weft::text
