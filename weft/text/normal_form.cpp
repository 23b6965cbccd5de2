#include <utf8proc.h>

#include <algorithm>
#include <optional>

#include "weft/text/unicode.h"
#include "weft/text/unicode_differences.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

int combining_class(char32_t value) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(value))->combining_class;
}

// What two characters compose to, if anything.
std::optional<char32_t> compose(char32_t first, char32_t second) {
  utf8proc_int32_t pair[2] = {static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second)};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  if (utf8proc_normalize_utf32(pair, 2, options) != 1) return std::nullopt;
  return static_cast<char32_t>(pair[0]);
}

// Full decomposition; combining marks in the order of their class.
std::vector<CharacterChange> decompose(std::string_view text, bool compatibility) {
  std::vector<CharacterChange> result;
  result.reserve(text.size());
  constexpr auto canonical = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
  const auto options = static_cast<utf8proc_option_t>(canonical | (compatibility ? UTF8PROC_COMPAT : 0));
  size_t marks = 0;  // where the marks after the last starter begin
  const auto sort_marks = [&] {
    std::stable_sort(result.begin() + static_cast<ptrdiff_t>(marks), result.end(),
                     [](const CharacterChange& a, const CharacterChange& b) {
                       return combining_class(a.value) < combining_class(b.value);
                     });
  };
  while (!text.empty()) {
    const CodePoint next = first_code_point(text);
    text.remove_prefix(next.length);
    utf8proc_int32_t parts[32];
    int boundary = 0;
    const auto value = static_cast<utf8proc_int32_t>(next.value);
    const bool plain = compatibility && contains(no_compatibility_before, next.value);
    const utf8proc_ssize_t count = utf8proc_decompose_char(value, parts, 32, plain ? canonical : options, &boundary);
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      const auto part = static_cast<char32_t>(parts[i]);
      if (combining_class(part) == 0) {
        sort_marks();
        marks = result.size() + 1;
      }
      result.push_back({part, i == 0 ? 0 : 1});
    }
  }
  sort_marks();
  return result;
}

// Canonical composition (Unicode 15, section 3.11, D117) of decomposed text.
std::vector<CharacterChange> recompose(const std::vector<CharacterChange>& parts) {
  std::vector<CharacterChange> result;
  result.reserve(parts.size());
  std::optional<size_t> starter;  // its place in `result`
  int last_class = -1;            // of the mark that stands last after the starter; −1: none stands there
  for (const CharacterChange& part : parts) {
    const int part_class = combining_class(part.value);
    if (starter && (last_class < 0 || last_class < part_class)) {
      if (const auto whole = compose(result[*starter].value, part.value)) {
        result[*starter] = {*whole, result[*starter].change + part.change - 1};
        continue;
      }
    }
    if (part_class == 0) {
      starter = result.size();
      last_class = -1;
    } else {
      last_class = part_class;
    }
    result.push_back(part);
  }
  return result;
}

bool is_ascii_byte(char c) { return static_cast<unsigned char>(c) < 0x80; }

// Below U+0300 nothing composes or is composed; below U+00A0 nothing decomposes.
bool is_plain(std::string_view text, NormalForm form) {
  const unsigned char first_lead = form == NormalForm::nfc ? 0xcc : 0xc2;
  return std::none_of(text.begin(), text.end(), [&](char c) { return static_cast<unsigned char>(c) >= first_lead; });
}

}  // namespace

AlignedText normal_form(const AlignedText& text, NormalForm form) {
  if (is_plain(text.text(), form)) return text;
  const bool compatibility = form == NormalForm::nfkc || form == NormalForm::nfkd;
  const bool composes = form == NormalForm::nfc || form == NormalForm::nfkc;
  const std::string_view all = text.text();
  TextEdit edit(text);
  size_t done = 0;
  for (size_t begin = ascii_length(all); begin < all.size(); begin = done + ascii_length(all.substr(done))) {
    const size_t end = static_cast<size_t>(
        std::find_if(all.begin() + static_cast<ptrdiff_t>(begin), all.end(), is_ascii_byte) - all.begin());
    if (composes && begin > done) --begin;  // an ASCII character may take the marks behind it
    edit.keep(done, begin);
    const std::vector<CharacterChange> parts = decompose(all.substr(begin, end - begin), compatibility);
    edit.put_changes(composes ? recompose(parts) : parts, begin);
    done = end;
  }
  edit.keep(done, all.size());
  return edit.finish();
}

}  // namespace weft::text
