#include "weft/base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

#include "weft/base/error.h"
#include "weft/base/shorten.h"
#include "weft/base/suggest.h"

namespace weft {

namespace {

// Where the parser is, for errors that are found in a callback and so come without a position.
struct Cursor {
  const char* begin;
  const char* now;
};

// Walks the text and leaves its trail in a Cursor.
struct TracingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* position;
  Cursor* cursor;

  reference operator*() const { return *position; }
  TracingIterator& operator++() {
    cursor->now = ++position;
    return *this;
  }
  bool operator==(const TracingIterator& other) const { return position == other.position; }
  bool operator!=(const TracingIterator& other) const { return position != other.position; }
};

std::string line_and_column(std::string_view before) {
  size_t line = 1;
  size_t column = 1;
  for (char c : before) {
    ++column;
    if (c == '\n') {
      ++line;
      column = 1;
    }
  }
  return fmt::format("line {}, column {}", line, column);
}

// The parser's reason without its own position and without the text that it quotes, which may be long or not UTF-8:
// "[json.exception.parse_error.101] parse error at line 1, column 3: <reason>; last read: '<text>'; expected <tokens>".
std::string reason_of(std::string_view what) {
  if (const size_t start = what.find("] "); start != what.npos) what.remove_prefix(start + 2);
  if (what.starts_with("parse error")) {
    if (const size_t colon = what.find(": "); colon != what.npos) what.remove_prefix(colon + 2);
  }
  const size_t quote = what.find("; last read: '");
  if (quote == what.npos) return std::string(what);
  const size_t expected = what.rfind("; expected ");
  const bool follows = expected != what.npos && expected > quote;
  return std::string(what.substr(0, quote)) + (follows ? std::string(what.substr(expected)) : "");
}

// Builds the document from the parser's events and refuses what a plain parse lets pass: duplicate keys, depth, and
// whole numbers that turned into rounded floats.
class DocumentBuilder : public nlohmann::json_sax<Json> {
 public:
  DocumentBuilder(std::string_view source, int max_depth, const Cursor& cursor)
      : source_(source), max_depth_(static_cast<size_t>(max_depth)), cursor_(cursor) {}

  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    if (text.find_first_of(".eE") == string_t::npos) refuse("the whole number {} does not fit 64 bits", text);
    return put(value);
  }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // JSON text has none
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    Json& object = *open_.back();
    if (object.contains(name)) refuse("the key \"{}\" stands twice in one object", name);
    member_ = &object[name];
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& error) override {
    failed_at_ = cursor_.begin + (position > 0 ? position - 1 : 0);
    refuse("{}", reason_of(error.what()));
  }

 private:
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    const char* now = failed_at_ != nullptr ? failed_at_ : cursor_.now;
    const std::string_view before(cursor_.begin, static_cast<size_t>(now - cursor_.begin));
    fail<FormatError>("{}: {}: {}", source_, line_and_column(before), fmt::format(format, std::forward<Args>(args)...));
  }

  Json* put(Json&& value, std::nullptr_t) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (member_ != nullptr) {
      *member_ = std::move(value);
      return std::exchange(member_, nullptr);
    }
    open_.back()->push_back(std::move(value));
    return &open_.back()->back();
  }
  bool put(Json&& value) { return put(std::move(value), nullptr) != nullptr; }
  bool open(Json&& value) {
    if (open_.size() == max_depth_) refuse("more than {} levels of nesting", max_depth_);
    open_.push_back(put(std::move(value), nullptr));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string source_;
  size_t max_depth_;
  const Cursor& cursor_;
  const char* failed_at_ = nullptr;
  Json root_;
  std::vector<Json*>
      open_;  // objects and arrays not yet closed; an element is appended only once the one before is closed
  Json* member_ = nullptr;  // the member whose key was read and whose value comes next
};

// Throws, with the path, for a number that JSON text cannot express.
void check_finite(const Json& value, const std::string& path) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    fail("json: cannot write {}: it is not a finite number", path.empty() ? "the document" : path);
  }
  if (!value.is_structured()) return;
  for (const auto& [key, member] : value.items()) check_finite(member, path.empty() ? key : path + "." + key);
}

// The value as a user sees it, short enough for a message.
std::string describe(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

Json parse_json(std::string_view text, std::string_view source, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    fail<FormatError>("{}: {} bytes of JSON are more than the {} allowed here", source, text.size(), limits.max_bytes);
  }
  // What the parser says of an empty text differs from version to version.
  if (text.empty()) fail<FormatError>("{}: line 1, column 1: unexpected end of input; the text is empty", source);
  // The parser takes a zero byte for the end of the text and would not see what follows it.
  const size_t zero = text.find('\0');
  if (zero != text.npos) fail<FormatError>("{}: {}: a zero byte", source, line_and_column(text.substr(0, zero)));
  Cursor cursor{text.data(), text.data()};
  DocumentBuilder builder(source, limits.max_depth, cursor);
  const TracingIterator begin{text.data(), &cursor};
  const TracingIterator end{text.data() + text.size(), &cursor};
  Json::sax_parse(begin, end, &builder);
  return builder.take();
}

std::string format_json(const Json& value, JsonStyle style) {
  check_finite(value, "");
  try {
    return style == JsonStyle::pretty ? value.dump(2) + "\n" : value.dump();
  } catch (const Json::exception&) {
    fail("json: cannot write text that is not UTF-8");
  }
}

double json_number(float value) {
  char digits[32];
  const auto written = std::to_chars(std::begin(digits), std::end(digits), value);
  double result = value;
  std::from_chars(std::begin(digits), written.ptr, result);
  return result;
}

template <>
bool JsonView::as<bool>() const {
  if (!value_->is_boolean()) expected("true or false");
  return value_->get<bool>();
}

template <>
int64_t JsonView::as<int64_t>() const {
  if (!value_->is_number_integer()) expected("a whole number");
  constexpr auto largest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (value_->is_number_unsigned() && value_->get<uint64_t>() > largest) expected("a whole number within 64 bits");
  return value_->get<int64_t>();
}

template <>
int JsonView::as<int>() const {
  const int64_t number = as<int64_t>();
  if (number != static_cast<int>(number)) expected("a whole number within 32 bits");
  return static_cast<int>(number);
}

template <>
double JsonView::as<double>() const {
  if (!value_->is_number()) expected("a number");
  return value_->get<double>();
}

template <>
float JsonView::as<float>() const {
  const double number = as<double>();
  if (std::abs(number) > static_cast<double>(std::numeric_limits<float>::max())) expected("a number within float32");
  return static_cast<float>(number);
}

template <>
std::string JsonView::as<std::string>() const {
  if (!value_->is_string()) expected("a string");
  return value_->get<std::string>();
}

bool JsonView::has(std::string_view key) const {
  if (!value_->is_object()) expected("an object");
  const auto member = value_->find(key);
  return member != value_->end() && !member->is_null();
}

JsonView JsonView::at(std::string_view key) const {
  if (!value_->is_object()) expected("an object");
  const auto member = value_->find(key);
  if (member == value_->end()) fail<FormatError>("{}: \"{}\" is missing", place(), key);
  return JsonView(*member, source_, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key));
}

std::vector<std::string> JsonView::keys() const {
  if (!value_->is_object()) expected("an object");
  std::vector<std::string> names;
  for (const auto& member : value_->items()) names.push_back(member.key());
  return names;
}

void JsonView::allow_only(std::span<const std::string_view> known) const {
  for (const std::string& key : keys()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      fail<FormatError>("{}: unknown key \"{}\"{}", place(), key, suggestion(key, known));
    }
  }
}

size_t JsonView::size() const {
  if (!value_->is_array()) expected("an array");
  return value_->size();
}

JsonView JsonView::at(size_t index) const {
  const size_t count = size();
  if (index >= count) fail<FormatError>("{}: no element {} in an array of {}", place(), index, count);
  return JsonView((*value_)[index], source_, fmt::format("{}[{}]", path_, index));
}

std::string JsonView::place() const { return path_.empty() ? source_ : fmt::format("{}: {}", source_, path_); }

void JsonView::expected(std::string_view what) const {
  fail<FormatError>("{}: expected {}, got {}", place(), what, describe(*value_));
}

}  // namespace weft
