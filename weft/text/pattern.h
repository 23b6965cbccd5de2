#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/json.h"
#include "weft/base/threads.h"
#include "weft/text/regex.h"
#include "weft/text/split_scanner.h"
#include "weft/text/text_budget.h"

namespace weft::text {

// A stretch of text that a pattern matches, or one between matches.
struct Part {
  size_t begin;
  size_t end;
  bool is_match;
};

// What becomes of the matches when a text is split by them.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };
SplitBehavior read_split_behavior(const JsonView& name);  // "Removed", "Isolated" …

// How a pattern splits a text: `invert` makes matches of what lies between them.
struct SplitRule {
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;
};

// What Split and Replace look for: `{"String": …}` or `{"Regex": …}`. The published patterns that split_scanner.h knows
// are scanned without a regular expression.
class Pattern {
 public:
  explicit Pattern(const JsonView& pattern);

  // Whether parts() has a match.
  bool occurs_in(std::string_view text, TextBudget& budget) const;
  // The parts of the text in order, matches and what lies between; together they are the text.
  std::vector<Part> parts(std::string_view text, TextBudget& budget) const;
  // The same without a list, which takes many times the memory of the text.
  void for_each_part(std::string_view text, TextBudget& budget, FunctionRef<void(const Part&)> use) const;
  // Calls emit(begin, end) for each part that is left after splitting.
  template <typename Emit>
  void split(std::string_view text, const SplitRule& rule, TextBudget& budget, Emit&& emit) const;

 private:
  // A regular expression `c{n,}`, for one character: runs of it, which need none of the machinery.
  struct Runs {
    char character;
    size_t least;
  };
  static std::optional<Runs> read_runs(std::string_view expression);
  // The next run from `position` on; empty at the end of the text if there is none.
  static Regex::Match next_run(const Runs& runs, std::string_view text, size_t position);

  void take_time_to_find(std::string_view text, TextBudget& budget) const;

  std::string literal_;  // if there is no regular expression
  std::optional<Regex> regex_;
  std::optional<KnownPattern> known_;
  std::optional<Runs> runs_;
};

// Turns what matches and what lies between into the parts that are left: those of Removed have the matches left out.
std::vector<Part> apply_behavior(std::vector<Part> parts, SplitBehavior behavior);

template <typename Emit>
void Pattern::split(std::string_view text, const SplitRule& rule, TextBudget& budget, Emit&& emit) const {
  if (known_ && rule.behavior == SplitBehavior::isolated) {  // all the text matches: every match is a part
    scan_pieces(*known_, text, emit);
    return;
  }
  std::vector<Part> found = parts(text, budget);
  if (rule.invert) {
    for (Part& part : found) part.is_match = !part.is_match;
  }
  for (const Part& part : apply_behavior(std::move(found), rule.behavior)) emit(part.begin, part.end);
}

}  // namespace weft::text
