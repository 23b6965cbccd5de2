#include "weft/train/recipe_source.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "weft/base/error.h"

namespace weft::train {

namespace {

constexpr size_t longest_shown = 60;  // characters of a value in a message

std::variant<bool, int64_t, double, std::string, OtherValue> convert(const toml::node& node) {
  if (const auto* value = node.as_boolean()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) {
    if (std::isfinite(value->get())) return value->get();
    return OtherValue{std::isnan(value->get()) ? "not a number" : "an infinite number"};
  }
  if (const auto* value = node.as_string()) return value->get();
  if (node.is_array()) return OtherValue{"a list"};
  if (node.is_table()) return OtherValue{"a table"};
  return OtherValue{"a date or time"};
}

std::string place_of(std::string_view source, const toml::source_region& region) {
  return fmt::format("{}:{}", source, region.begin.line);
}

toml::table parse_toml(std::string_view text, std::string_view source) {
  try {
    return toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    fail<FormatError>("{}, column {}: not TOML: {}", place_of(source, error.source()), error.source().begin.column,
                      error.description());
  }
}

// The value of an override: TOML if it reads as such, else the word itself, so that shells need no double quotes.
std::variant<bool, int64_t, double, std::string, OtherValue> parse_override_value(const std::string& text,
                                                                                  const std::string& place) {
  std::optional<toml::table> table;
  try {
    table = toml::parse("value = " + text);
  } catch (const toml::parse_error&) {
    const bool is_word = !text.empty() && std::ranges::none_of(text, [](char c) {
      return c == '"' || c == '\'' || c == '[' || c == '{' || static_cast<unsigned char>(c) < 0x20;
    });
    require<UsageError>(is_word, "{}: expected table.key=value with a TOML value, got the value {}", place,
                        text.empty() ? "nothing" : text);
    return text;
  }
  require<UsageError>(table->size() == 1, "{}: expected one value, got several lines", place);
  return convert(*table->get("value"));
}

template <typename Entries>
auto* find_named(Entries& entries, std::string_view name, std::string std::ranges::range_value_t<Entries>::*member) {
  const auto found = std::ranges::find_if(entries, [&](const auto& entry) { return entry.*member == name; });
  return found == entries.end() ? nullptr : &*found;
}

void apply_override(std::vector<RecipeTable>& tables, const std::string& text) {
  const std::string place = "--set " + text.substr(0, longest_shown);
  const size_t dot = text.find('.');
  const size_t equals = text.find('=');
  require<UsageError>(equals != std::string::npos && dot < equals && dot > 0 && dot + 1 < equals,
                      "{}: expected table.key=value, such as train.steps=200", place);
  const std::string name = text.substr(0, dot);
  const std::string key = text.substr(dot + 1, equals - dot - 1);
  RecipeTable* table = find_named(tables, name, &RecipeTable::name);
  if (table == nullptr) table = &tables.emplace_back(RecipeTable{name, place, {}});
  RecipeValue* value = find_named(table->values, key, &RecipeValue::key);
  if (value == nullptr) value = &table->values.emplace_back(RecipeValue{key, {}, {}});
  value->value = parse_override_value(text.substr(equals + 1), place);
  value->place = place;
}

}  // namespace

std::vector<RecipeTable> parse_recipe_tables(std::string_view text, std::string_view source,
                                             std::span<const std::string> overrides) {
  const toml::table document = parse_toml(text, source);
  std::vector<RecipeTable> tables;
  for (const auto& [name, node] : document) {
    const toml::table* content = node.as_table();
    require<FormatError>(content != nullptr, "{}: {}: expected a table such as [train] around every key, got a value",
                         place_of(source, node.source()), name.str());
    RecipeTable table{std::string(name.str()), place_of(source, node.source()), {}};
    for (const auto& [key, value] : *content) {
      table.values.push_back({std::string(key.str()), convert(value), place_of(source, value.source())});
    }
    tables.push_back(std::move(table));
  }
  for (const std::string& override : overrides) apply_override(tables, override);
  return tables;
}

std::string describe(const RecipeValue& value) {
  struct Describe {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const {
      return fmt::format("\"{}{}\"", v.substr(0, longest_shown), v.size() > longest_shown ? "…" : "");
    }
    std::string operator()(const OtherValue& v) const { return v.what; }
  };
  return std::visit(Describe(), value.value);
}

}  // namespace weft::train
