#include "weft/text/split_scanner.h"

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/text/regex.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

using Pieces = std::vector<std::string>;

Pieces scanned(KnownPattern pattern, std::string_view text) {
  Pieces pieces;
  scan_pieces(pattern, text, [&](size_t begin, size_t end) { pieces.emplace_back(text.substr(begin, end - begin)); });
  return pieces;
}

Pieces matched(const Regex& regex, std::string_view text) {
  Pieces pieces;
  TextBudget budget(text.size());
  Regex::Search search(regex, text, budget);
  while (const auto match = search.next()) pieces.emplace_back(text.substr(match->begin, match->end - match->begin));
  return pieces;
}

// Characters that decide between alternatives, and some of everything else.
std::string random_text(uint64_t round) {
  const std::vector<std::string> parts = {
      " ",      " ",      "\n",     "\r",     "\t",     "'",      "s",      "S",          "re",     "LL", "\u017f",
      "t",      "7",      "42",     "\u00b2", "\u0663", "\u00e9", "\u4e2d", "\U0001f600", "\u0301", ".",  "!",
      "\u0085", "\u3000", "\u00a0", "\u2028", "_",      "word",   "\u1680", "\u180e",     "\ufeff"};
  const Rng rng = Rng{.seed = 11, .stream = 0}.split(round);
  std::string text;
  for (uint64_t i = 0; i < rng.below(24, 0); ++i) text += parts[rng.below(parts.size(), i + 1)];
  return text;
}

TEST(SplitScanner, MatchesAsTheRegularExpressionDoes) {
  for (const KnownPattern pattern : {KnownPattern::gpt2, KnownPattern::llama3, KnownPattern::qwen2}) {
    const Regex regex(pattern_text(pattern));
    for (uint64_t round = 0; round < 20000; ++round) {
      const std::string text = random_text(round);
      ASSERT_EQ(scanned(pattern, text), matched(regex, text)) << text;
    }
  }
}

TEST(SplitScanner, KnowsItsPatternsByTheirText) {
  for (const KnownPattern pattern : {KnownPattern::gpt2, KnownPattern::llama3, KnownPattern::qwen2}) {
    EXPECT_EQ(known_pattern(pattern_text(pattern)), pattern);
  }
  EXPECT_EQ(known_pattern(R"(\s+)"), std::nullopt);
}

}  // namespace
}  // namespace weft::text
