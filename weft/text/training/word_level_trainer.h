#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/text/training/word_table.h"

namespace weft::text {

struct WordLevelTrainerConfig {
  int32_t vocab_size = 30000;                    // tokens altogether
  uint64_t min_frequency = 0;                    // a word seen less often is left out
  std::vector<std::string> special_tokens = {};  // they get the first ids
};

// The special tokens and the most frequent words, by id: those seen most first, equally frequent ones by their bytes.
// weft::Error if vocab_size is below 1.
std::vector<std::string> train_word_level(std::span<const WordCount> words, const WordLevelTrainerConfig& config);

}  // namespace weft::text
