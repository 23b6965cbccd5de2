#include "weft/text/normalizers/characters.h"

#include "weft/text/character_map.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

bool is_dropped_by_nmt(char32_t c) {
  return (c >= 0x1 && c <= 0x8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f;
}

bool is_blank_for_nmt(char32_t c) {
  return c == 0x9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 || (c >= 0x200b && c <= 0x200f) || c == 0x2028 ||
         c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
}

}  // namespace

FormNormalizer::FormNormalizer(const JsonView& description) {
  description.allow_only({"type"});
  const auto type = description.get<std::string>("type");
  form_ = type == "NFC"    ? NormalForm::nfc
          : type == "NFD"  ? NormalForm::nfd
          : type == "NFKC" ? NormalForm::nfkc
                           : NormalForm::nfkd;
}

AlignedText LowercaseNormalizer::normalize(AlignedText text) const {
  if (is_ascii(text.text())) {
    text.map_bytes([](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c; });
    return text;
  }
  return map_characters(text, is_not_capital, [](char32_t value, auto&& put) {
    const LowerCase lower = to_lower(value);
    put(lower.first);
    if (lower.second != 0) put(lower.second);
  });
}

AlignedText StripAccentsNormalizer::normalize(AlignedText text) const {
  if (is_ascii(text.text())) return text;
  return map_characters(text, is_any, [](char32_t value, auto&& put) {
    if (!is_accent(value)) put(value);
  });
}

StripNormalizer::StripNormalizer(const JsonView& description) {
  description.allow_only({"type", "strip_left", "strip_right"});
  left_ = description.get<bool>("strip_left");
  right_ = description.get<bool>("strip_right");
}

AlignedText StripNormalizer::normalize(AlignedText text) const {
  const std::string_view all = text.text();
  size_t begin = 0;
  while (left_ && begin < all.size()) {
    const CodePoint next = first_code_point(all.substr(begin));
    if (!is_whitespace(next.value)) break;
    begin += next.length;
  }
  size_t end = all.size();
  while (right_ && end > begin) {
    const CodePoint last = last_code_point(all.substr(0, end));
    if (!is_whitespace(last.value)) break;
    end -= last.length;
  }
  if (end - begin == all.size()) return text;
  return begin < end ? text.slice(begin, end) : text.slice(all.size(), all.size());
}

AlignedText NmtNormalizer::normalize(AlignedText text) const {
  return map_characters(text, is_printable, [](char32_t value, auto&& put) {
    if (!is_dropped_by_nmt(value)) put(is_blank_for_nmt(value) ? U' ' : value);
  });
}

}  // namespace weft::text
