#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/json.h"
#include "weft/base/suggest.h"

namespace weft::text {

// The elements of one stage of a pipeline: the type named in a tokenizer.json, and what makes it from its description.
template <typename Stage>
using ElementMakers = std::vector<std::pair<std::string_view, std::unique_ptr<Stage> (*)(const JsonView&)>>;

template <typename Stage, typename Element>
std::unique_ptr<Stage> make_element(const JsonView& description) {
  return std::make_unique<Element>(description);
}

// FormatError for a type that is not among them.
template <typename Stage>
std::unique_ptr<Stage> make_by_type(const JsonView& description, std::string_view stage,
                                    const ElementMakers<Stage>& makers) {
  const auto type = description.get<std::string>("type");
  std::vector<std::string_view> names;
  for (const auto& [name, make] : makers) {
    if (name == type) return make(description);
    names.push_back(name);
  }
  fail<FormatError>("{}: unknown {} \"{}\"{}", description.place(), stage, type, suggestion(type, names));
}

}  // namespace weft::text
