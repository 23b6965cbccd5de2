#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/text/training/word_table.h"

namespace weft::text {

struct AlphabetConfig {
  std::vector<char32_t> initial = {};          // characters that are kept whether seen or not
  std::optional<size_t> limit = std::nullopt;  // at most this many characters; all that are seen without
};

// The characters of the words, by code point. Where they are limited, the rarest go first; of equally rare ones those
// with the larger code point.
std::vector<char32_t> choose_alphabet(std::span<const WordCount> words, const AlphabetConfig& config);

}  // namespace weft::text
