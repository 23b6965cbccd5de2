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
  const auto load = [&]<typename Word>(size_t position, Word word) {
    std::memcpy(&word, bytes.data() + position, sizeof(word));
    return word;
  };
  // The last word of several overlaps the one before: no copy of a length that only the run knows.
  const size_t size = bytes.size();
  if (size >= 8) {
    for (size_t position = 0; position + 8 < size; position += 8) mix(load(position, uint64_t{0}));
    mix(load(size - 8, uint64_t{0}));
  } else if (size >= 4) {
    mix(uint64_t{load(0, uint32_t{0})} << 32 | load(size - 4, uint32_t{0}));
  } else if (size > 0) {
    mix(uint64_t{load(0, uint8_t{0})} << 16 | uint64_t{load(size / 2, uint8_t{0})} << 8 | load(size - 1, uint8_t{0}));
  }
  return hash * multiplier ^ (hash >> 29);
}

}  // namespace weft::text
