#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/text/training/word_table.h"

namespace weft::text {

struct Substring {
  std::string text;
  uint64_t count;  // occurrences, overlapping ones too
};

// The substrings of words that may become pieces, from a suffix array over the words: those of two to
// `max_piece_characters` characters that occur at least twice. Of those that always go on in the same way, only the
// longest form. At most `count`, those with the largest occurrences × characters; equal ones in a fixed order. Words
// are UTF-8.
std::vector<Substring> frequent_substrings(std::span<const WordCount> words, size_t max_piece_characters, size_t count);

}  // namespace weft::text
