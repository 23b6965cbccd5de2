#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace weft::text {

// A regular expression in the syntax of tokenizer.json (Oniguruma's, Unicode classes), compiled by PCRE2. Work per
// match is bounded: a pattern that backtracks without end is an error, not a hang.
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
    Search(const Regex& regex, std::string_view text);
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;
    ~Search();

    // The next match. An empty one does not follow directly on another match. weft::Error if the pattern needs too many
    // steps.
    std::optional<Match> next();

   private:
    struct State;
    std::optional<Match> match_from(size_t start);

    const Regex& regex_;
    std::string_view text_;
    std::unique_ptr<State> state_;
    size_t position_ = 0;
    std::optional<size_t> last_end_;
  };

 private:
  struct Compiled;

  std::string pattern_;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace weft::text
