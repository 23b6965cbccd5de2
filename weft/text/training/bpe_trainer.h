#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/text/training/alphabet.h"
#include "weft/text/training/word_table.h"

namespace weft::text {

struct BpeTrainerConfig {
  int32_t vocab_size = 30000;                    // tokens altogether; the alphabet may make it larger
  uint64_t min_frequency = 0;                    // a pair seen less often is not merged
  std::vector<std::string> special_tokens = {};  // they get the first ids
  AlphabetConfig alphabet = {};
  std::string continuing_subword_prefix = {};  // stands before each token that does not begin a word, such as "##"
  std::string end_of_word_suffix = {};         // stands behind each token that ends a word, such as "</w>"
  // A token that is longer, in characters, is not made of merged ones. The limit itself is out of reach, as in the
  // reference, but for two characters.
  std::optional<size_t> max_token_length = std::nullopt;
};

struct TrainedBpe {
  std::vector<std::string> tokens;                  // by id
  std::vector<std::pair<int32_t, int32_t>> merges;  // ids, in the order in which encoding applies them
};

// Byte-pair encoding (Sennrich et al. 2016): again and again the most frequent pair of neighbours becomes a token. Of
// equally frequent pairs, the one whose left token has the smaller id comes first, then the one whose right token has.
// Ids follow from the order in which tokens are added: special tokens, the alphabet by code point, its forms with
// prefix and suffix by code point too, then the merges. That is the order of Hugging Face's tokenizers library, which
// leaves only the forms with prefix or suffix to chance. `words` are counted over the whole text; their order does not
// matter. weft::Error if vocab_size is below 1.
TrainedBpe train_bpe(std::span<const WordCount> words, const BpeTrainerConfig& config);

}  // namespace weft::text
