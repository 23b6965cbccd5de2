#pragma once

#include <cstdint>

namespace weft::data {

// The id of a number in the vocabularies of the notes' tasks: three special tokens stand before the numbers.
constexpr int32_t id_of_number(int64_t number) { return static_cast<int32_t>(number) + 3; }

}  // namespace weft::data
