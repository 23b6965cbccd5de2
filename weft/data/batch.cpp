#include "weft/data/batch.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "weft/base/error.h"

namespace weft::data {

int64_t TokenRows::tokens() const { return std::reduce(lengths.begin(), lengths.end()); }

std::vector<int32_t> TokenRows::sequence(int64_t i) const {
  require(i >= 0 && i < sequences(), "batch: sequence {} of {}", i, sequences());
  const auto rows = ids.span<int32_t>().subspan(static_cast<size_t>(offsets[static_cast<size_t>(i)]),
                                                static_cast<size_t>(lengths[static_cast<size_t>(i)]));
  return {rows.begin(), rows.end()};
}

void BatchBuilder::add(const Sample& sample) {
  const auto [ids, targets, source, class_id] = sample;
  require(!ids.empty() && ids.size() == targets.size(), "batch: a sequence of {} ids has as many targets, not {}",
          ids.size(), targets.size());
  require(sources_.size() == (source.empty() ? 0 : ids_.size()), "batch: all samples have a source or none has");
  require(classes_.size() == (class_id ? ids_.size() : 0), "batch: all samples have a class or none has");
  ids_.emplace_back(ids.begin(), ids.end());
  targets_.emplace_back(targets.begin(), targets.end());
  if (!source.empty()) sources_.emplace_back(source.begin(), source.end());
  if (class_id) classes_.push_back(*class_id);
}

Batch BatchBuilder::finish() {
  require(!ids_.empty(), "batch: no sequences to lay out");
  Batch batch{.input = rows_of(ids_)};
  batch.targets = laid_out(targets_, batch.input, ignored_target);
  for (const std::vector<int32_t>& targets : targets_) {
    batch.counted += static_cast<int64_t>(targets.size()) - std::ranges::count(targets, ignored_target);
  }
  if (!sources_.empty()) batch.source = rows_of(sources_);
  if (!classes_.empty()) batch.classes = Tensor::from<int32_t>(classes_, {static_cast<int64_t>(classes_.size())});
  *this = BatchBuilder(packing_, pad_id_);
  return batch;
}

TokenRows BatchBuilder::rows_of(const Sequences& sequences) const {
  size_t longest = 0;
  for (const std::vector<int32_t>& sequence : sequences) longest = std::max(longest, sequence.size());
  TokenRows rows{.offsets = {0}};
  for (const std::vector<int32_t>& sequence : sequences) {
    rows.lengths.push_back(static_cast<int64_t>(sequence.size()));
    const size_t owned = packing_ == Packing::packed ? sequence.size() : longest;
    rows.offsets.push_back(rows.offsets.back() + static_cast<int64_t>(owned));
  }
  rows.ids = laid_out(sequences, rows, pad_id_);
  rows.position_ids = Tensor::empty({rows.offsets.back()}, DType::i32);
  int32_t* positions = rows.position_ids.data<int32_t>();
  for (size_t i = 0; i + 1 < rows.offsets.size(); ++i) {
    std::iota(positions + rows.offsets[i], positions + rows.offsets[i + 1], 0);
  }
  return rows;
}

Tensor BatchBuilder::laid_out(const Sequences& sequences, const TokenRows& rows, int32_t filling) const {
  Tensor result = Tensor::empty({rows.offsets.back()}, DType::i32);
  std::ranges::fill(result.span<int32_t>(), filling);
  for (size_t i = 0; i < sequences.size(); ++i) {
    std::ranges::copy(sequences[i], result.data<int32_t>() + rows.offsets[i]);
  }
  return result;
}

}  // namespace weft::data
