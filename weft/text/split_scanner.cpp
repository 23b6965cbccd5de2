#include "weft/text/split_scanner.h"

#include "weft/text/unicode.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

constexpr std::array<std::string_view, 3> texts = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

enum class Class : uint8_t { end, space, letter, number, other };

constexpr std::array<Class, 128> ascii_classes = [] {
  std::array<Class, 128> classes{};
  for (int c = 0; c < 128; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool space = c == ' ' || (c >= 9 && c <= 13);
    const bool number = c >= '0' && c <= '9';
    classes[static_cast<size_t>(c)] = letter   ? Class::letter
                                      : space  ? Class::space
                                      : number ? Class::number
                                               : Class::other;
  }
  return classes;
}();

// A character's class and length at a place in the text.
struct Look {
  Class kind;
  size_t length;
};

class Scanner {
 public:
  Scanner(KnownPattern pattern, std::string_view text) : pattern_(pattern), text_(text) {}

  // The end of the match that begins at `begin`, which is before the end of the text.
  size_t match(size_t begin) const { return pattern_ == KnownPattern::gpt2 ? match_gpt2(begin) : match_llama3(begin); }

 private:
  Look look(size_t position) const {
    if (position >= text_.size()) return {Class::end, 0};
    const auto byte = static_cast<unsigned char>(text_[position]);
    if (byte < 0x80) return {ascii_classes[byte], 1};
    const CodePoint c = first_code_point(text_.substr(position));
    if (is_letter(c.value)) return {Class::letter, c.length};
    if (is_number(c.value)) return {Class::number, c.length};
    return {is_whitespace(c.value) ? Class::space : Class::other, c.length};
  }

  size_t run_end(size_t position, Class kind) const {
    for (Look next = look(position); next.kind == kind; next = look(position)) position += next.length;
    return position;
  }

  char at(size_t position) const { return position < text_.size() ? text_[position] : '\0'; }
  bool is_line_end(size_t position) const { return at(position) == '\n' || at(position) == '\r'; }

  // The end of 's, 't, 're, 've, 'm, 'll or 'd at an apostrophe; 0 if none is there.
  size_t contraction_end(size_t begin, bool any_case) const {
    const auto letter = [&](size_t position) {
      const char c = at(position);
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c;
    };
    const char first = letter(begin + 1);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return begin + 2;
    // U+017F, the long s, is an s in another case.
    if (any_case && at(begin + 1) == '\xc5' && at(begin + 2) == '\xbf') return begin + 3;
    const char second = letter(begin + 2);
    const bool two =
        (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l');
    return two ? begin + 3 : 0;
  }

  // White space that is not the start of a word: all of it at the end of the text, else all but its last character,
  // unless that is all there is.
  size_t space_end(size_t begin) const {
    size_t last = begin;
    size_t end = begin;
    for (Look next = look(end); next.kind == Class::space; next = look(end)) {
      last = end;
      end += next.length;
    }
    return end == text_.size() || last == begin ? end : last;
  }

  size_t match_gpt2(size_t begin) const {
    if (text_[begin] == '\'') {
      if (const size_t end = contraction_end(begin, false)) return end;
    }
    const Look next = look(begin + (text_[begin] == ' ' ? 1 : 0));
    if (next.kind == Class::end || next.kind == Class::space) return space_end(begin);
    return run_end(begin + (text_[begin] == ' ' ? 1 : 0) + next.length, next.kind);
  }

  size_t match_llama3(size_t begin) const {
    if (text_[begin] == '\'') {
      if (const size_t end = contraction_end(begin, true)) return end;
    }
    const Look here = look(begin);
    if (here.kind == Class::letter) return run_end(begin + here.length, Class::letter);
    if (here.kind == Class::number) return number_end(begin);
    const Look after = look(begin + here.length);
    if (after.kind == Class::letter && !is_line_end(begin)) {
      return run_end(begin + here.length + after.length, Class::letter);
    }
    const bool spaced = text_[begin] == ' ' && after.kind == Class::other;
    if (here.kind == Class::other || spaced) {
      size_t end = run_end(begin + here.length, Class::other);
      while (is_line_end(end)) ++end;
      return end;
    }
    size_t after_line = 0;  // behind the last line end of the run of white space
    size_t end = begin;
    for (Look next = here; next.kind == Class::space; next = look(end)) {
      end += next.length;
      if (is_line_end(end - 1)) after_line = end;
    }
    return after_line > 0 ? after_line : space_end(begin);
  }

  size_t number_end(size_t begin) const {
    size_t end = begin;
    const int most = pattern_ == KnownPattern::llama3 ? 3 : 1;
    for (int count = 0; count < most; ++count) {
      const Look next = look(end);
      if (next.kind != Class::number) break;
      end += next.length;
    }
    return end;
  }

  KnownPattern pattern_;
  std::string_view text_;
};

}  // namespace

std::optional<KnownPattern> known_pattern(std::string_view expression) {
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i] == expression) return static_cast<KnownPattern>(i);
  }
  return std::nullopt;
}

std::string_view pattern_text(KnownPattern pattern) { return texts[static_cast<size_t>(pattern)]; }

void scan_pieces(KnownPattern pattern, std::string_view text, FunctionRef<void(size_t, size_t)> emit) {
  const Scanner scanner(pattern, text);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = scanner.match(begin);
    emit(begin, end);
    begin = end;
  }
}

}  // namespace weft::text
