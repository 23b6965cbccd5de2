#pragma once

#include <cstddef>

#include "weft/base/error.h"

namespace weft::text {

// What a file that nobody vouches for may have at most; published tokenizers stay far below.

// Bytes of any of its files.
constexpr size_t longest_file = size_t{256} << 20;

// Bytes of a token's name. Models look for the longest token at every place of a text.
constexpr size_t longest_name = size_t{16} << 10;

// Bytes that a character map may put in the place of a character or a few; published maps have up to 33.
constexpr size_t longest_replacement = 1024;

// Bytes of the names of tokens that are decoded: for each, on average, and for a few long ones.
constexpr size_t decoded_bytes_per_token = size_t{1} << 10;
constexpr size_t spare_decoded_bytes = size_t{1} << 20;

// weft::Error if the names of `tokens` ids have more.
inline void require_decodable(size_t bytes, size_t tokens) {
  const size_t most = spare_decoded_bytes + decoded_bytes_per_token * tokens;
  require(bytes <= most, "decode: the names of {} tokens have {} bytes or more; at most {} are decoded", tokens, bytes,
          most);
}

}  // namespace weft::text
