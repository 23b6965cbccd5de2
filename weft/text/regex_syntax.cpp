#include "weft/text/regex_syntax.h"

#include <optional>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/shorten.h"
#include "weft/text/regex_classes.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

constexpr std::string_view any_character = R"([\x{0}-\x{10ffff}])";

// A set of characters under construction: `items` fit between brackets, each alternative is a pattern of one character.
struct CharacterSet {
  std::string items;
  std::vector<std::string> alternatives;

  void add(const CharacterSet& other) {
    items += other.items;
    alternatives.insert(alternatives.end(), other.alternatives.begin(), other.alternatives.end());
  }
  std::string pattern() const {
    if (alternatives.empty()) return items.empty() ? "(?!)" : fmt::format("[{}]", items);
    std::string joined = items.empty() ? "" : fmt::format("[{}]", items);
    for (const std::string& alternative : alternatives) joined += (joined.empty() ? "" : "|") + alternative;
    return fmt::format("(?:{})", joined);
  }
  std::string negated_pattern() const {
    if (alternatives.empty()) return items.empty() ? std::string(any_character) : fmt::format("[^{}]", items);
    return fmt::format("(?:(?!{}){})", pattern(), any_character);
  }
};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (!at_end()) step();
    return std::move(result_);
  }

 private:
  bool at_end() const { return position_ == pattern_.size(); }
  std::string_view rest() const { return pattern_.substr(position_); }
  char peek() const { return at_end() ? '\0' : pattern_[position_]; }
  char take() {
    require<FormatError>(!at_end(), "regular expression: \"{}\" breaks off", shortened(pattern_, shown_pattern));
    return pattern_[position_++];
  }
  bool take_if(std::string_view text) {
    if (!rest().starts_with(text)) return false;
    position_ += text.size();
    return true;
  }
  [[noreturn]] void refuse(std::string_view what) const {
    fail<FormatError>("regular expression: \"{}\": {}", shortened(pattern_, shown_pattern), what);
  }

  void atom(std::string_view text) {
    atom_begin_ = result_.size();
    result_ += text;
  }

  void step() {
    const char c = take();
    switch (c) {
      case '\\':
        escape();
        break;
      case '[':
        atom(character_class(0));
        break;
      case '(':
        open_group();
        break;
      case ')':
        result_ += c;
        if (groups_.empty()) refuse("a closing parenthesis too many");
        atom_begin_ = groups_.back();
        groups_.pop_back();
        break;
      case '{':
        interval();
        break;
      case '*':
      case '+':
      case '?':
      case '|':
        result_ += c;
        break;
      default:
        plain(c);
    }
  }

  void plain(char c) {
    atom_begin_ = result_.size();
    result_ += c;
    while (!at_end() && (static_cast<unsigned char>(peek()) & 0xc0u) == 0x80u) result_ += take();
  }

  // Options are Oniguruma's: m lets the dot match line ends, which PCRE2 calls s.
  void open_group() {
    groups_.push_back(result_.size());
    result_ += '(';
    if (peek() == '*') refuse("there is nothing to repeat");
    if (!take_if("?")) return;
    result_ += '?';
    size_t length = 0;
    while (length < rest().size() && std::string_view("imx-").find(rest()[length]) != std::string_view::npos) ++length;
    const bool is_option = length > 0 && length < rest().size() && (rest()[length] == ':' || rest()[length] == ')');
    if (!is_option) return;
    for (size_t i = 0; i < length; ++i) {
      const char option = take();
      if (option == 'x') refuse("the option x is not supported");
      result_ += option == 'm' ? 's' : option;
    }
    if (peek() == ')') {  // options for the rest of the group around
      result_ += take();
      groups_.pop_back();
    }
  }

  // `{,n}` counts from 0, and a + behind an interval repeats it.
  void interval() {
    size_t end = 0;
    while (end < rest().size() && std::string_view("0123456789,").find(rest()[end]) != std::string_view::npos) ++end;
    const bool is_interval = end > 0 && end < rest().size() && rest()[end] == '}' && rest().substr(0, end) != ",";
    if (!is_interval) {
      atom("\\{");
      return;
    }
    std::string counts(rest().substr(0, end));
    if (counts.starts_with(',')) counts.insert(0, 1, '0');
    position_ += end + 1;
    result_ += fmt::format("{{{}}}", counts);
    if (peek() == '+') {
      result_.insert(atom_begin_, "(?:");
      result_ += ')';
    }
  }

  void escape() {
    if (peek() == 'w' || peek() == 'W') {
      atom(fmt::format("[{}{}]", take() == 'W' ? "^" : "", outer_word_items()));
      return;
    }
    if (const std::optional<CharacterSet> set = set_escape()) {
      atom(set->pattern());
      return;
    }
    const char c = take();
    const std::string word = fmt::format("[{}]", outer_word_items());
    switch (c) {
      case 'b':
        atom(fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word));
        break;
      case 'B':
        atom(fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word));
        break;
      case 'O':
        atom(any_character);
        break;
      case 'A':
      case 'z':
      case 'Z':
      case 'G':
      case 'K':
      case 'R':
      case 'X':
      case 'k':
      case 'g':
      case '1':
      case '2':
      case '3':
      case '4':
      case '5':
      case '6':
      case '7':
      case '8':
      case '9':
        atom(fmt::format("\\{}", c));
        break;
      default:
        --position_;
        atom(code_point_item(character_escape()));
    }
  }

  // The set that an escape at the current place stands for, if it stands for one.
  std::optional<CharacterSet> set_escape() {
    const auto set = [&](std::string_view items) {
      ++position_;
      return CharacterSet{std::string(items), {}};
    };
    const auto outside = [&](std::string_view items) {
      ++position_;
      return CharacterSet{"", {fmt::format("[^{}]", items)}};
    };
    switch (peek()) {
      case 's':
        return set(space_items());
      case 'S':
        return set(not_space_items());
      case 'd':
        return set(digit_items());
      case 'D':
        return outside(digit_items());
      case 'w':
        return set(word_items());
      case 'W':
        return outside(word_items());
      case 'h':
        return set(hex_items);
      case 'H':
        return outside(hex_items);
      case 'p':
      case 'P':
        return property();
      default:
        return std::nullopt;
    }
  }

  CharacterSet property() {
    bool negated = take() == 'P';
    std::string name;
    if (take_if("{")) {
      if (take_if("^")) negated = !negated;
      const size_t length = rest().find('}');
      if (length == std::string_view::npos) refuse("a property without its closing brace");
      name = rest().substr(0, length);
      position_ += length + 1;
    } else {
      name = take();
    }
    std::string items = property_items(name);
    if (negated) return {"", {fmt::format("[^{}]", items)}};
    return {std::move(items), {}};
  }

  uint32_t hexadecimal(size_t most) {
    uint32_t value = 0;
    size_t count = 0;
    while (count < most && !at_end()) {
      const char c = peek();
      const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!digit) break;
      value = value * 16 + static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
      ++position_;
      ++count;
    }
    if (count == 0) refuse("a code point without hexadecimal digits");
    return value;
  }

  // The one character that an escape stands for.
  uint32_t character_escape() {
    const CodePoint next = first_code_point(rest());
    if (next.length == 0) refuse("it ends with a backslash");
    position_ += next.length;
    switch (next.value) {
      case 't':
        return 0x09;
      case 'n':
        return 0x0a;
      case 'v':
        return 0x0b;
      case 'f':
        return 0x0c;
      case 'r':
        return 0x0d;
      case 'a':
        return 0x07;
      case 'e':
        return 0x1b;
      case '0':
        return 0;
      case 'u':
        return hexadecimal(4);
      case 'x':
        if (take_if("{")) {
          const uint32_t value = hexadecimal(8);
          if (!take_if("}")) refuse("a code point without its closing brace");
          return value;
        }
        return hexadecimal(2);
      default:
        break;
    }
    const bool letter = (next.value >= 'a' && next.value <= 'z') || (next.value >= 'A' && next.value <= 'Z');
    if (letter) refuse(fmt::format("the escape \\{} is not supported", static_cast<char>(next.value)));
    return next.value;
  }

  // From behind the opening bracket to behind the closing one, as a pattern of one character.
  std::string character_class(int depth) {
    bool negated = false;
    const CharacterSet set = class_content(depth, negated);
    return negated ? set.negated_pattern() : set.pattern();
  }

  CharacterSet class_content(int depth, bool& negated) {
    if (depth > 20) refuse("character classes nest too deep");
    negated = take_if("^");
    CharacterSet set;
    std::string conditions;  // what stands before each &&, as look-aheads
    bool first = true;
    while (first || peek() != ']') {
      if (at_end()) refuse("a character class without its closing bracket");
      if (take_if("&&")) {
        conditions += fmt::format("(?={})", set.pattern());
        set = {};
      } else {
        class_item(depth, set);
      }
      first = false;
    }
    ++position_;
    if (conditions.empty()) return set;
    return {"", {fmt::format("(?:{}{})", conditions, set.pattern())}};
  }

  void class_item(int depth, CharacterSet& set) {
    if (take_if("[:")) {
      posix_class(set);
      return;
    }
    if (take_if("[")) {
      bool negated = false;
      const CharacterSet inner = class_content(depth + 1, negated);
      if (negated) {
        set.alternatives.push_back(inner.negated_pattern());
      } else {
        set.add(inner);
      }
      return;
    }
    if (peek() == '\\') {
      ++position_;
      if (const auto escaped = set_escape()) {
        set.add(*escaped);
        return;
      }
      --position_;
    }
    const uint32_t low = class_character();
    set.items += code_point_item(low);
    const bool range =
        peek() == '-' && rest().size() > 1 && rest()[1] != ']' && !rest().starts_with("-&&") && rest()[1] != '[';
    if (!range) return;
    ++position_;
    const uint32_t high = class_character();
    if (high < low) refuse("a range of characters that runs backwards");
    set.items += '-';
    set.items += code_point_item(high);
  }

  uint32_t class_character() {
    if (take_if("\\")) return take_if("b") ? 0x08 : character_escape();
    const CodePoint next = first_code_point(rest());
    if (next.length == 0) refuse("a character class without its closing bracket");
    position_ += next.length;
    return next.value;
  }

  void posix_class(CharacterSet& set) {
    const bool negated = take_if("^");
    const size_t length = rest().find(":]");
    if (length == std::string_view::npos) refuse("a bracket expression without its end");
    const std::string_view name = rest().substr(0, length);
    const std::optional<std::string> items = bracket_items(name);
    if (!items) refuse("a bracket expression with an unknown name");
    position_ += length + 2;
    if (negated) {
      set.alternatives.push_back(fmt::format("[^{}]", *items));
    } else {
      set.items += *items;
    }
  }

  std::string_view pattern_;
  size_t position_ = 0;
  std::string result_;
  size_t atom_begin_ = 0;       // of what a quantifier here would repeat
  std::vector<size_t> groups_;  // where the open groups begin
};

}  // namespace

std::string translate_regex(std::string_view pattern) { return Translator(pattern).run(); }

}  // namespace weft::text
