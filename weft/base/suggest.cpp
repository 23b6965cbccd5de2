#include "weft/base/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace weft {

namespace {

// Optimal string alignment distance in three rows: each neighbour swap counts once.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

}  // namespace

std::string_view closest_match(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr size_t longest = 64;  // a longer word is no misspelt name, and the distance takes the square of the length
  std::string_view best;
  if (word.size() > longest) return best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    if (candidate.size() > longest) continue;
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view best = closest_match(word, candidates);
  if (!best.empty()) return fmt::format("; did you mean \"{}\"?", best);
  if (candidates.empty()) return "";
  return fmt::format("; known: {}", fmt::join(candidates, ", "));
}

}  // namespace weft
