#include "weft/data/batch.h"

#include <algorithm>
#include <utility>

#include "weft/base/error.h"

namespace weft::data {

void BatchPacker::add(std::span<const int32_t> ids, std::span<const int32_t> targets) {
  require(!ids.empty() && ids.size() == targets.size(), "batch: a sequence of {} ids has as many targets, not {}",
          ids.size(), targets.size());
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  targets_.insert(targets_.end(), targets.begin(), targets.end());
  for (size_t position = 0; position < ids.size(); ++position) {
    position_ids_.push_back(static_cast<int32_t>(position));
  }
  offsets_.push_back(static_cast<int64_t>(ids_.size()));
}

PackedBatch BatchPacker::finish() {
  require(!ids_.empty(), "batch: no sequences to pack");
  const auto tensor = [](const std::vector<int32_t>& values) {
    return Tensor::from<int32_t>(values, {static_cast<int64_t>(values.size())});
  };
  const auto ignored = std::ranges::count(targets_, ignored_target);
  PackedBatch batch{.ids = tensor(ids_),
                    .targets = tensor(targets_),
                    .position_ids = tensor(position_ids_),
                    .offsets = std::exchange(offsets_, {0}),
                    .counted = static_cast<int64_t>(targets_.size()) - ignored};
  ids_.clear();
  targets_.clear();
  position_ids_.clear();
  return batch;
}

}  // namespace weft::data
