#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/files.h"
#include "weft/io/safetensors_header.h"
#include "weft/tensor/tensor.h"

namespace weft {

// A safetensors file, mapped into memory; everything in its header is checked when it is opened (FormatError, IoError).
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  const std::vector<SafetensorsEntry>& entries() const { return header_.entries; }
  std::vector<std::string> names() const;  // in the order of their numbers
  bool contains(std::string_view name) const;

  // The tensor as it lies in the file, which stays mapped as long as the tensor lives. Writing into it changes this
  // process's copy only. A copy where the file has it unaligned. FormatError for an unknown name, an element type that
  // weft does not hold, more than six dimensions, and a BOOL that is neither 0 nor 1.
  Tensor tensor(std::string_view name) const;

 private:
  const SafetensorsEntry& entry(std::string_view name) const;

  std::filesystem::path path_;
  std::shared_ptr<MappedFile> file_;
  SafetensorsHeader header_;
  std::map<std::string, size_t, std::less<>> index_;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Writes the tensors atomically. Their numbers are sorted by element size, largest first, then by name, and start at a
// multiple of 64 bytes, so that every tensor is aligned for its type. Other tools expect `metadata` to say {"format":
// "pt"}.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace weft
