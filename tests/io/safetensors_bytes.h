#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace weft::testing_support {

// A safetensors file from its header text and `data_bytes` bytes of numbers 0, 1, 2, …
inline std::string safetensors_bytes(std::string_view header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  file += header;
  for (size_t i = 0; i < data_bytes; ++i) file += static_cast<char>(i);
  return file;
}

}  // namespace weft::testing_support
