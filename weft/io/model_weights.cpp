#include "weft/io/model_weights.h"

#include "weft/base/error.h"
#include "weft/io/json.h"

namespace weft {

namespace fs = std::filesystem;

ModelWeights::ModelWeights(const fs::path& folder) : folder_(folder) {
  std::error_code ignored;
  const fs::path single = folder / "model.safetensors";
  const fs::path index = folder / "model.safetensors.index.json";
  if (fs::exists(single, ignored)) {
    files_.emplace_back(single);
    for (const std::string& name : files_.front().names()) owner_[name] = 0;
  } else if (fs::exists(index, ignored)) {
    open_shards(index);
  } else {
    fail<IoError>("{}: has neither model.safetensors nor model.safetensors.index.json", folder.string());
  }
}

void ModelWeights::open_shards(const fs::path& index) {
  const Json document = read_json(index);
  const JsonView shards = JsonView(document, index.string()).at("weight_map");
  std::map<std::string, size_t> opened;
  for (const std::string& name : shards.keys()) {
    const auto shard = shards.get<std::string>(name);
    // A plain file name: an index must not reach outside its folder.
    if (shard.empty() || shard == "." || shard == ".." || shard.find('/') != std::string::npos ||
        shard.find('\0') != std::string::npos) {
      shards.at(name).expected("the name of a file beside the index");
    }
    const auto [position, added] = opened.try_emplace(shard, files_.size());
    if (added) files_.emplace_back(folder_ / shard);
    if (!files_[position->second].contains(name)) {
      fail<FormatError>("{}: the shard {} does not hold it", shards.at(name).place(), shard);
    }
    owner_[name] = position->second;
  }
  if (files_.empty()) fail<FormatError>("{}: names no tensor", shards.place());
  for (size_t i = 0; i < files_.size(); ++i) {
    for (const std::string& name : files_[i].names()) {
      const auto listed = owner_.find(name);
      if (listed == owner_.end() || listed->second != i) {
        fail<FormatError>("{}: holds the tensor \"{}\", which {} does not place there", files_[i].path().string(), name,
                          index.string());
      }
    }
  }
}

std::vector<std::string> ModelWeights::names() const {
  std::vector<std::string> result;
  for (const auto& [name, file] : owner_) result.push_back(name);
  return result;
}

Tensor ModelWeights::tensor(std::string_view name) const {
  const auto found = owner_.find(name);
  if (found == owner_.end()) fail<FormatError>("{}: has no tensor \"{}\"", folder_.string(), name);
  return files_[found->second].tensor(name);
}

}  // namespace weft
