#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::text {

// Walks through all of a SentencePiece character map (the size of a trie in four bytes, the trie, the replacements), as
// the library does when it replaces. FormatError, with `place`, for what it would follow out of the map or into itself,
// for more keys that begin each other than it has room for, and for replacements out of all proportion. The result is
// how many times its own bytes a text may grow; 1 of an empty map.
size_t check_character_map(std::string_view map, const std::string& place);

}  // namespace weft::text
