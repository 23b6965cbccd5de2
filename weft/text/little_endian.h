#pragma once

#include <cstdint>
#include <string_view>

namespace weft::text {

// The number in the first four of `bytes`, lowest first.
inline uint32_t read_u32(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

}  // namespace weft::text
