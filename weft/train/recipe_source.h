#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft::train {

// What TOML can say that no recipe asks for: lists, tables in tables, dates, numbers that are not finite.
struct OtherValue {
  std::string what;  // "a list"
};

struct RecipeValue {
  std::string key;
  std::variant<bool, int64_t, double, std::string, OtherValue> value;
  std::string place;  // "recipes/a.toml:12" or "--set train.steps=x"
};

struct RecipeTable {
  std::string name;
  std::string place;
  std::vector<RecipeValue> values;
};

// The tables of a TOML text, with the overrides laid over them: each replaces or adds one value. FormatError with file
// and line for bad TOML and for values outside of tables; UsageError for an override that is not table.key=value.
std::vector<RecipeTable> parse_recipe_tables(std::string_view text, std::string_view source,
                                             std::span<const std::string> overrides);

// A value as messages show it: "abc" in quotes, 12, true, a list.
std::string describe(const RecipeValue& value);

}  // namespace weft::train
