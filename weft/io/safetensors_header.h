#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/dtype.h"

namespace weft {

// The header of a safetensors file (https://github.com/huggingface/safetensors, "Format"): 8 bytes of little-endian
// length, then that many bytes of JSON which starts with '{' and may end in spaces, then the numbers of all tensors,
// dense, without a gap, each in row-major order.
constexpr uint64_t max_safetensors_header_bytes = 100'000'000;

struct SafetensorsEntry {
  std::string name;
  std::string dtype_name;      // as in the file: "F32", "F8_E4M3", …
  std::optional<DType> dtype;  // none for the types of the format that weft does not hold
  std::vector<int64_t> sizes;
  uint64_t begin = 0;  // bytes from the start of the numbers
  uint64_t end = 0;
};

struct SafetensorsHeader {
  uint64_t data_offset = 0;  // where the numbers start in the file
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> entries;  // in the order of their numbers
};

// Reads and checks the header of a whole file of `file_bytes` bytes, of which `front` holds at least the header: its
// bounds, names, types, sizes, offsets, and that the numbers cover the rest of the file exactly. FormatError with
// `source`.
SafetensorsHeader parse_safetensors_header(std::string_view front, uint64_t file_bytes, std::string_view source);

// "F32" for DType::f32 and so on.
std::string_view safetensors_name(DType dtype);

}  // namespace weft
