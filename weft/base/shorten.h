#pragma once

#include <string>
#include <string_view>

namespace weft {

// A text as messages show it: its first `longest` bytes or less, up to a whole UTF-8 character, and then an ellipsis,
// if it is longer.
std::string shortened(std::string_view text, size_t longest = 60);

}  // namespace weft
