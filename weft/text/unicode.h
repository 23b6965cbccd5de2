#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/text/aligned_text.h"

namespace weft::text {

// Properties of characters, by the general categories of the Unicode Character Database (utf8proc), where the reference
// implementation does not differ (unicode_differences.h). White space is in utf8.h.
bool is_letter(char32_t value);              // L
bool is_number(char32_t value);              // N
bool is_accent(char32_t value);              // M, as StripAccents takes them away
bool is_bert_accent(char32_t value);         // Mn, as BERT's normalizer does
bool is_punctuation(char32_t value);         // P, and every ASCII symbol, as BERT counts them
bool is_control_or_private(char32_t value);  // Cc, Cf, Cs, Co
bool is_word_character(char32_t value);      // \w: letters, marks, decimal digits, connectors, joiners …

// The lower case of one character: one, or for U+0130 two (Unicode's SpecialCasing without context).
struct LowerCase {
  char32_t first;
  char32_t second;  // 0: none
};
LowerCase to_lower(char32_t value);

enum class NormalForm { nfc, nfd, nfkc, nfkd };
// Normalized text; alignment is that of the reference implementation: a composed character takes the place of as many
// source characters as went into it, a decomposed one's further parts come from where its first part does.
AlignedText normal_form(const AlignedText& text, NormalForm form);

// Whether a character is a grapheme cluster of its own wherever characters of which the same is true stand beside it.
bool stands_alone(char32_t value);

// Cuts text into extended grapheme clusters (UAX 29).
class Graphemes {
 public:
  explicit Graphemes(std::string_view text) : rest_(text) {}
  std::string_view next();  // empty at the end

 private:
  std::string_view rest_;
  int32_t state_ = 0;
};

}  // namespace weft::text
