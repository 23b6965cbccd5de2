#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace weft::text {

// A fast hash of short strings, eight bytes at a time; the same on every run.
inline uint64_t hash_bytes(std::string_view bytes) {
  constexpr uint64_t multiplier = 0x9e3779b97f4a7c15;
  uint64_t hash = bytes.size() * multiplier;
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0xd6e8feb86659fd93;
    hash ^= hash >> 32;
  };
  const char* position = bytes.data();
  size_t rest = bytes.size();
  for (; rest >= 8; rest -= 8, position += 8) {
    uint64_t word;
    std::memcpy(&word, position, 8);
    mix(word);
  }
  if (rest > 0) {
    uint64_t word = 0;
    std::memcpy(&word, position, rest);
    mix(word);
  }
  return hash * multiplier ^ (hash >> 29);
}

}  // namespace weft::text
