#include "weft/text/training/alphabet.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "weft/text/utf8.h"

namespace weft::text {

std::vector<char32_t> choose_alphabet(std::span<const WordCount> words, const AlphabetConfig& config) {
  std::unordered_map<char32_t, uint64_t> counts;
  for (const WordCount& entry : words) {
    for (char32_t character : to_code_points(entry.word)) counts[character] += entry.count;
  }
  for (char32_t character : config.initial) counts[character] = std::numeric_limits<uint64_t>::max();

  std::vector<std::pair<char32_t, uint64_t>> kept(counts.begin(), counts.end());
  if (config.limit && kept.size() > *config.limit) {
    std::ranges::sort(kept, [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    kept.resize(*config.limit);
  }
  std::vector<char32_t> alphabet;
  for (const auto& [character, count] : kept) alphabet.push_back(character);
  std::ranges::sort(alphabet);
  return alphabet;
}

}  // namespace weft::text
