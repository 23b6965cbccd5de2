#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/text/training/alphabet.h"
#include "weft/text/training/unigram_lattice.h"
#include "weft/text/training/word_table.h"

namespace weft::text {

struct UnigramTrainerConfig {
  int32_t vocab_size = 8000;  // tokens altogether; the alphabet may make it larger
  std::vector<std::string> special_tokens = {};
  AlphabetConfig alphabet = {};
  size_t max_piece_characters = 16;
  size_t seed_size = 1000000;      // pieces to begin with
  double shrinking_factor = 0.75;  // share of the pieces that a round of pruning leaves
  int rounds = 2;                  // of expectation and maximisation between two prunings
};

// The unigram language model (Kudo 2018, "Subword Regularization"): from many frequent substrings, expectation
// maximisation over all ways to cut the words and pruning of the pieces whose loss costs least likelihood, in turn. The
// result: the special tokens with score 0, then the pieces, the most probable first; every character of the alphabet is
// one. Characters outside a limited alphabet are left out of the words. The result does not depend on the number of
// threads. weft::Error for settings out of range.
std::vector<UnigramPiece> train_unigram(std::span<const WordCount> words, const UnigramTrainerConfig& config);

}  // namespace weft::text
