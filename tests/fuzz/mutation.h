#pragma once

#include <string>
#include <string_view>

#include "tests/fuzz/dice.h"

namespace weft::fuzz {

// A few changes of bytes: bits turned over, bytes put in, taken out or repeated, numbers made extreme, a stretch of
// `other` put in. At most `longest` bytes.
std::string mutate_bytes(std::string input, std::string_view other, Dice& dice, size_t longest);

}  // namespace weft::fuzz
