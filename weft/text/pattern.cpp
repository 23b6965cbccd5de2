#include "weft/text/pattern.h"

#include <algorithm>
#include <array>

#include "weft/base/error.h"
#include "weft/base/suggest.h"

namespace weft::text {

namespace {

constexpr size_t longest_literal = size_t{64} << 10;  // as of a regular expression

constexpr std::array<std::string_view, 5> behavior_names = {"Removed", "Isolated", "MergedWithPrevious",
                                                            "MergedWithNext", "Contiguous"};

// Matches stick to the part before them, but not to another match.
std::vector<Part> merge_with_previous(const std::vector<Part>& parts) {
  std::vector<Part> merged;
  bool after_match = false;
  for (const Part& part : parts) {
    if (part.is_match && !after_match && !merged.empty()) {
      merged.back().end = part.end;
    } else {
      merged.push_back({part.begin, part.end, false});
    }
    after_match = part.is_match;
  }
  return merged;
}

std::vector<Part> merge_with_next(std::vector<Part> parts) {
  std::vector<Part> merged;
  bool before_match = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->is_match && !before_match && !merged.empty()) {
      merged.back().begin = part->begin;
    } else {
      merged.push_back({part->begin, part->end, false});
    }
    before_match = part->is_match;
  }
  std::reverse(merged.begin(), merged.end());
  return merged;
}

std::vector<Part> join_runs(const std::vector<Part>& parts) {
  std::vector<Part> joined;
  bool previous = false;
  for (const Part& part : parts) {
    if (part.is_match == previous && !joined.empty()) {
      joined.back().end = part.end;
    } else {
      joined.push_back({part.begin, part.end, false});
    }
    previous = part.is_match;
  }
  return joined;
}

// Puts what lies between the matches between them.
class PartWriter {
 public:
  PartWriter(std::string_view text, FunctionRef<void(const Part&)> use) : size_(text.size()), use_(use) {}
  void match(size_t begin, size_t end) {
    if (end_ < begin) use_({end_, begin, false});
    use_({begin, end, true});
    end_ = end;
  }
  void finish() const {
    if (end_ < size_) use_({end_, size_, false});
  }

 private:
  size_t size_;
  size_t end_ = 0;
  FunctionRef<void(const Part&)> use_;
};

}  // namespace

SplitBehavior read_split_behavior(const JsonView& name) {
  const auto value = name.as<std::string>();
  const auto found = std::find(behavior_names.begin(), behavior_names.end(), value);
  if (found == behavior_names.end()) {
    fail<FormatError>("{}: unknown behavior \"{}\"{}", name.place(), value, suggestion(value, behavior_names));
  }
  return static_cast<SplitBehavior>(found - behavior_names.begin());
}

Pattern::Pattern(const JsonView& pattern) {
  pattern.allow_only({"String", "Regex"});
  if (pattern.has("String") == pattern.has("Regex")) pattern.expected("either a String or a Regex");
  if (pattern.has("String")) {
    literal_ = pattern.get<std::string>("String");
    if (literal_.size() > longest_literal) {
      pattern.at("String").expected(fmt::format("at most {} bytes", longest_literal));
    }
    if (literal_.empty()) regex_.emplace("");
    return;
  }
  const auto expression = pattern.get<std::string>("Regex");
  known_ = known_pattern(expression);
  runs_ = read_runs(expression);
  try {
    regex_.emplace(expression);
  } catch (const FormatError& error) {
    fail<FormatError>("{}: {}", pattern.place(), error.what());
  }
}

std::optional<Pattern::Runs> Pattern::read_runs(std::string_view expression) {
  const bool fits = expression.size() == 5 && expression[1] == '{' && expression.ends_with(",}");
  if (!fits || expression[2] < '1' || expression[2] > '9') return std::nullopt;
  const char character = expression[0];
  const bool is_literal = character == ' ' || character == '-' || character == '_';
  if (!is_literal) return std::nullopt;
  return Runs{character, static_cast<size_t>(expression[2] - '0')};
}

// Every run of n has a character at one of the places n − 1, 2 n − 1 …
Regex::Match Pattern::next_run(const Runs& runs, std::string_view text, size_t position) {
  for (size_t i = position + runs.least - 1; i < text.size(); i += runs.least) {
    if (text[i] != runs.character) continue;
    size_t begin = i;
    while (begin > position && text[begin - 1] == runs.character) --begin;
    size_t end = i + 1;
    while (end < text.size() && text[end] == runs.character) ++end;
    if (end - begin >= runs.least) return {begin, end};
  }
  return {text.size(), text.size()};
}

// The literal may nearly stand at every place.
void Pattern::take_time_to_find(std::string_view text, TextBudget& budget) const {
  budget.take_time(text.size() * (1 + literal_.size() / 32));
}

bool Pattern::occurs_in(std::string_view text, TextBudget& budget) const {
  if (text.empty()) return false;
  if (known_) return true;
  if (runs_) return next_run(*runs_, text, 0).begin < text.size();
  if (regex_) return Regex::Search(*regex_, text, budget).next().has_value();
  take_time_to_find(text, budget);
  return text.find(literal_) != text.npos;
}

std::vector<Part> Pattern::parts(std::string_view text, TextBudget& budget) const {
  std::vector<Part> parts;
  for_each_part(text, budget, [&](const Part& part) { parts.push_back(part); });
  return parts;
}

void Pattern::for_each_part(std::string_view text, TextBudget& budget, FunctionRef<void(const Part&)> use) const {
  if (text.empty()) {
    use({0, 0, false});
    return;
  }
  PartWriter writer(text, use);
  if (known_) {
    scan_pieces(*known_, text, [&](size_t begin, size_t end) { writer.match(begin, end); });
  } else if (runs_) {
    for (auto run = next_run(*runs_, text, 0); run.begin < run.end; run = next_run(*runs_, text, run.end)) {
      writer.match(run.begin, run.end);
    }
  } else if (regex_) {
    Regex::Search search(*regex_, text, budget);
    while (const auto match = search.next()) writer.match(match->begin, match->end);
  } else {
    take_time_to_find(text, budget);
    for (size_t begin = text.find(literal_); begin != text.npos; begin = text.find(literal_, begin + literal_.size())) {
      writer.match(begin, begin + literal_.size());
    }
  }
  writer.finish();
}

std::vector<Part> apply_behavior(std::vector<Part> parts, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::removed:
      std::erase_if(parts, [](const Part& part) { return part.is_match; });
      return parts;
    case SplitBehavior::isolated:
      return parts;
    case SplitBehavior::merged_with_previous:
      return merge_with_previous(parts);
    case SplitBehavior::merged_with_next:
      return merge_with_next(std::move(parts));
    case SplitBehavior::contiguous:
      return join_runs(parts);
  }
  fail("split: behavior {} does not exist", static_cast<int>(behavior));
}

}  // namespace weft::text
