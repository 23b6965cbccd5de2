#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/text/text_budget.h"

namespace weft::text {

// A regular expression in the syntax of tokenizer.json (Oniguruma's, Unicode classes), compiled by PCRE2. Work is
// bounded, per match and per text: a pattern that backtracks without end is an error, not a hang.
class Regex {
 public:
  // FormatError with the pattern for bad syntax, or syntax that is not supported.
  explicit Regex(std::string_view pattern);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  struct Match {
    size_t begin;
    size_t end;
  };

  // The matches in one text, from its start on. Well-formed UTF-8, which must outlive the search.
  class Search {
   public:
    // `text` may be a part of the one that the budget is for.
    Search(const Regex& regex, std::string_view text, TextBudget& budget);
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;
    ~Search();

    // The next match. An empty one does not follow directly on another match. weft::Error if the pattern needs too many
    // steps, or all its matches together.
    std::optional<Match> next();

   private:
    struct State;
    enum class Outcome { match, no_match, too_many_steps };

    std::optional<Match> match_from(size_t start);
    Outcome match_in(size_t start, size_t last, uint32_t steps);
    Outcome match_with_effort(size_t start);
    [[noreturn]] void give_up(size_t start, std::string_view why) const;

    const Regex& regex_;
    std::string_view text_;
    TextBudget& budget_;
    std::unique_ptr<State> state_;
    size_t width_;   // places to try at once
    uint64_t work_;  // nanoseconds of the last try, which the budget has not noted yet
    size_t position_ = 0;
    std::optional<size_t> last_end_;
  };

 private:
  struct Compiled;

  std::string pattern_;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace weft::text
