#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weft {

// The candidate that `word` most likely was meant to be: fewest insertions, deletions, replacements and swaps of
// neighbours, at most one in three letters; the first of equals. Empty if none is that close.
std::string_view closest_match(std::string_view word, std::span<const std::string_view> candidates);

// The end of a message about an unknown name: `; did you mean "steps"?`, or `; known: epochs, steps` if nothing is
// close.
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace weft
