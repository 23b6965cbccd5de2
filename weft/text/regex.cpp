#include "weft/text/regex.h"

#include <pcre2.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "weft/base/error.h"
#include "weft/base/shorten.h"
#include "weft/text/regex_syntax.h"

namespace weft::text {

namespace {

constexpr size_t longest_pattern = 64 << 10;
// Steps of a match from one place: those that every place may take, and those that one may, of the text's budget.
constexpr uint32_t light_steps = 2'000;
constexpr uint32_t most_steps = 2'048'000;
// A step may look at all of the text. So of a long one a place may take fewer steps, and few places are tried at once
// until they have shown that they take little time.
constexpr size_t widest_window = 4096;
constexpr size_t narrow_window = 64;                 // that no length of a text asks to go below
constexpr size_t bytes_of_window = size_t{1} << 29;  // places × bytes, at the most
constexpr size_t bytes_of_first_window = size_t{1} << 25;
constexpr size_t short_text = size_t{64} << 10;  // whose work is not measured but taken for one look at each byte
constexpr uint64_t nanoseconds_of_window = 1'000'000;
constexpr size_t bytes_of_effort = size_t{1} << 37;
constexpr uint32_t depth_limit = 100'000;
constexpr uint32_t heap_limit_kib = 64 << 10;
constexpr size_t jit_stack_bytes = 1 << 20;

uint64_t nanoseconds_since(std::chrono::steady_clock::time_point begin) {
  return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
}

size_t first_window_of(std::string_view text) {
  return std::clamp(bytes_of_first_window / (text.size() + 1), size_t{1}, widest_window);
}

size_t widest_window_of(std::string_view text) {
  return std::clamp(bytes_of_window / (text.size() + 1), narrow_window, widest_window);
}

uint32_t most_steps_of(std::string_view text) {
  return static_cast<uint32_t>(std::clamp<size_t>(bytes_of_effort / (text.size() + 1), most_steps / 64, most_steps));
}

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80u; }

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct Regex::Compiled {
  pcre2_code* code = nullptr;
  ~Compiled() { pcre2_code_free(code); }
};

Regex::Regex(std::string_view pattern) : pattern_(pattern), compiled_(std::make_unique<Compiled>()) {
  require<FormatError>(pattern.size() <= longest_pattern, "regular expression: expected at most {} bytes, got {}",
                       longest_pattern, pattern.size());
  const std::string translated = translate_regex(pattern);
  int error = 0;
  size_t offset = 0;
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  pcre2_set_parens_nest_limit(context, 100);
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  compiled_->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT, &error,
                    &offset, context);
  pcre2_compile_context_free(context);
  if (compiled_->code == nullptr) {
    fail<FormatError>("regular expression: \"{}\" does not compile: {}", shortened(pattern, shown_pattern),
                      message_of(error));
  }
  pcre2_jit_compile(compiled_->code, PCRE2_JIT_COMPLETE);  // where it cannot, matching is slower but the same
}

Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

struct Regex::Search::State {
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;

  ~State() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

Regex::Search::Search(const Regex& regex, std::string_view text, TextBudget& budget)
    : regex_(regex),
      text_(text),
      budget_(budget),
      state_(std::make_unique<State>()),
      width_(first_window_of(text)),
      work_(256 + std::min(text.size(), short_text)) {
  state_->data = pcre2_match_data_create(1, nullptr);
  state_->context = pcre2_match_context_create(nullptr);
  pcre2_set_depth_limit(state_->context, depth_limit);
  pcre2_set_heap_limit(state_->context, heap_limit_kib);
}

Regex::Search::~Search() = default;

void Regex::Search::give_up(size_t start, std::string_view why) const {
  fail("regular expression: \"{}\" gives up at byte {} of a text of {}: {}", shortened(regex_.pattern_, shown_pattern),
       start, text_.size(), why);
}

// A match that begins from `start` to `last`, where no place takes more steps than given.
Regex::Search::Outcome Regex::Search::match_in(size_t start, size_t last, uint32_t steps) {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data());
  pcre2_set_match_limit(state_->context, steps);
  pcre2_set_offset_limit(state_->context, last);
  const auto run = [&](uint32_t options) {
    return pcre2_match(regex_.compiled_->code, subject, text_.size(), start, options | PCRE2_NO_UTF_CHECK, state_->data,
                       state_->context);
  };
  if (!budget_.has_time(work_)) give_up(start, "the text takes too long");
  const bool is_long = text_.size() > short_text;
  const auto begin = is_long ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  int result = run(0);
  if (result == PCRE2_ERROR_JIT_STACKLIMIT && state_->stack == nullptr) {
    state_->stack = pcre2_jit_stack_create(jit_stack_bytes / 8, jit_stack_bytes, nullptr);
    pcre2_jit_stack_assign(state_->context, nullptr, state_->stack);
    result = run(0);
  }
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = run(PCRE2_NO_JIT);
  work_ = is_long ? nanoseconds_since(begin) : 256 + text_.size();
  if (result == PCRE2_ERROR_NOMATCH) return Outcome::no_match;
  if (result == PCRE2_ERROR_MATCHLIMIT) return Outcome::too_many_steps;
  if (result < 0) give_up(start, message_of(result));
  return Outcome::match;
}

// A match that begins at `start`, where the light way took too many steps.
Regex::Search::Outcome Regex::Search::match_with_effort(size_t start) {
  for (uint32_t steps = light_steps * 8; steps <= most_steps_of(text_); steps *= 4) {
    if (!budget_.take_steps(steps)) give_up(start, "the matches of the text take too many steps together");
    const Outcome outcome = match_in(start, start, steps);
    if (outcome != Outcome::too_many_steps) return outcome;
  }
  give_up(start, "match limit exceeded");
}

std::optional<Regex::Match> Regex::Search::match_from(size_t start) {
  while (start <= text_.size()) {
    const size_t last = std::min(start + width_ - 1, text_.size());
    Outcome outcome = match_in(start, last, light_steps);
    if (outcome == Outcome::too_many_steps && last > start) {
      width_ = std::max<size_t>(1, width_ / 16);
      continue;
    }
    if (outcome == Outcome::too_many_steps) outcome = match_with_effort(start);
    if (outcome == Outcome::match) {
      const size_t* range = pcre2_get_ovector_pointer(state_->data);
      // \K in a look-ahead can put the begin behind the end; such a match is empty.
      return Match{std::min(range[0], range[1]), range[1]};
    }
    start = last + 1;
    while (start < text_.size() && continues(text_[start])) ++start;
    width_ =
        work_ < nanoseconds_of_window ? std::min(widest_window_of(text_), width_ * 2) : std::max<size_t>(1, width_ / 2);
  }
  return std::nullopt;
}

std::optional<Regex::Match> Regex::Search::next() {
  while (position_ <= text_.size()) {
    const std::optional<Match> match = match_from(position_);
    if (!match) {
      position_ = text_.size() + 1;
      return std::nullopt;
    }
    if (match->begin == match->end && last_end_ == match->end) {
      do {
        ++position_;
      } while (position_ < text_.size() && continues(text_[position_]));
      continue;
    }
    position_ = match->end;
    last_end_ = match->end;
    return match;
  }
  return std::nullopt;
}

}  // namespace weft::text
