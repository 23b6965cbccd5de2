#include "weft/text/training/word_level_trainer.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft::text {

std::vector<std::string> train_word_level(std::span<const WordCount> words, const WordLevelTrainerConfig& config) {
  require(config.vocab_size >= 1, "word-level trainer: vocab_size must be at least 1, got {}", config.vocab_size);
  std::vector<const WordCount*> order;
  for (const WordCount& word : words) {
    if (word.count >= config.min_frequency) order.push_back(&word);
  }
  std::ranges::sort(order, [](const WordCount* a, const WordCount* b) {
    return a->count != b->count ? a->count > b->count : a->word < b->word;
  });
  std::vector<std::string> tokens = config.special_tokens;
  for (const WordCount* word : order) {
    if (tokens.size() >= static_cast<size_t>(config.vocab_size)) break;
    if (std::ranges::find(config.special_tokens, word->word) == config.special_tokens.end()) {
      tokens.push_back(word->word);
    }
  }
  return tokens;
}

}  // namespace weft::text
