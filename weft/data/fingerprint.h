#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

namespace weft::data {

// FNV-1a over 32-bit words (Fowler, Noll and Vo): tells data apart, guards against nothing.
inline uint64_t fingerprint_of(std::span<const int32_t> words, std::initializer_list<uint64_t> more = {}) {
  constexpr uint64_t prime = 0x100000001b3ull;
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const int32_t word : words) hash = (hash ^ static_cast<uint32_t>(word)) * prime;
  for (const uint64_t word : more) {
    hash = (hash ^ static_cast<uint32_t>(word)) * prime;
    hash = (hash ^ (word >> 32)) * prime;
  }
  return hash;
}

}  // namespace weft::data
