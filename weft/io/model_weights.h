#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/io/safetensors.h"

namespace weft {

// The tensors of a model folder: those of model.safetensors, or of the shards that model.safetensors.index.json names.
// The index and the shards must agree: every listed shard exists, and holds exactly the tensors that the index gives
// it.
class ModelWeights {
 public:
  explicit ModelWeights(const std::filesystem::path& folder);  // IoError, FormatError

  std::vector<std::string> names() const;  // sorted
  bool contains(std::string_view name) const { return owner_.find(name) != owner_.end(); }
  const std::map<std::string, std::string>& metadata() const { return files_.front().metadata(); }
  // As SafetensorsFile::tensor().
  Tensor tensor(std::string_view name) const;

 private:
  void open_shards(const std::filesystem::path& index);

  std::filesystem::path folder_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, size_t, std::less<>> owner_;  // name → which of files_
};

}  // namespace weft
