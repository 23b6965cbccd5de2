#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Keys are kept sorted, so a document is always written the same way.
using Json = nlohmann::json;

struct JsonLimits {
  uint64_t max_bytes = uint64_t{256} << 20;
  int max_depth = 64;
};

// Parses one JSON document (RFC 8259, UTF-8). FormatError with `source` (the file's name), line and column for bad
// syntax, bad UTF-8, numbers that fit neither 64 bits nor a double, a key that stands twice in one object, and anything
// beyond the limits.
Json parse_json(std::string_view text, std::string_view source, const JsonLimits& limits = {});

enum class JsonStyle { pretty, compact };

// The document as text. Doubles are written with as many digits as give the same double back. weft::Error, with the
// path to the value, for what JSON cannot express: NaN, infinities, text that is not UTF-8.
std::string format_json(const Json& value, JsonStyle style = JsonStyle::pretty);

// `value` as the double of its shortest decimal form: format_json() then writes 0.1 for 0.1f, not 0.10000000149011612,
// and reading that as a float gives the same float.
double json_number(float value);

// A value in a parsed document together with its place, for typed reading with messages such as
// `config.json: n_layer: expected a whole number, got "12"` (FormatError). The document must outlive the view.
class JsonView {
 public:
  JsonView(const Json& value, std::string source) : value_(&value), source_(std::move(source)) {}
  JsonView(Json&& value, std::string source) = delete;

  const Json& value() const { return *value_; }
  // This value as T: bool, int, int64_t, float, double, std::string, or a vector of one of these. Whole numbers must be
  // written without fraction or exponent; float and double take any number within their range.
  template <typename T>
  T as() const;

  // Objects. A member that is null counts as absent, as in published configurations.
  bool has(std::string_view key) const;
  JsonView at(std::string_view key) const;
  template <typename T>
  T get(std::string_view key) const {
    return at(key).as<T>();
  }
  template <typename T>
  T get_or(std::string_view key, T fallback) const {
    return has(key) ? at(key).as<T>() : fallback;
  }
  std::vector<std::string> keys() const;
  // Refuses any member that is not `known`, suggesting the closest.
  void allow_only(std::span<const std::string_view> known) const;
  void allow_only(std::initializer_list<std::string_view> known) const {
    allow_only(std::span(known.begin(), known.size()));
  }

  // Arrays.
  size_t size() const;
  JsonView at(size_t index) const;

  // `config.json: rope.factor`; the source alone for the document itself.
  std::string place() const;
  // Throws `<place>: expected <what>, got <this value>`.
  [[noreturn]] void expected(std::string_view what) const;

 private:
  JsonView(const Json& value, std::string source, std::string path)
      : value_(&value), source_(std::move(source)), path_(std::move(path)) {}

  const Json* value_;
  std::string source_;
  std::string path_;
};

template <>
bool JsonView::as<bool>() const;
template <>
int JsonView::as<int>() const;
template <>
int64_t JsonView::as<int64_t>() const;
template <>
float JsonView::as<float>() const;
template <>
double JsonView::as<double>() const;
template <>
std::string JsonView::as<std::string>() const;

template <typename T>
T JsonView::as() const {
  static_assert(std::is_same_v<T, std::vector<typename T::value_type>>, "JsonView::as: not a type that JSON reads as");
  T result;
  const size_t count = size();
  result.reserve(count);
  for (size_t i = 0; i < count; ++i) result.push_back(at(i).template as<typename T::value_type>());
  return result;
}

}  // namespace weft
