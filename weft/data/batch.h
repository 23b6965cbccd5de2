#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/tensor/tensor.h"

namespace weft::data {

// The target of a token whose prediction counts nothing: ops::CrossEntropyOptions' usual ignore_id.
constexpr int32_t ignored_target = -100;

// b sequences laid end to end: nothing is padded. Sequence i owns the rows offsets[i] … offsets[i + 1] − 1.
struct PackedBatch {
  Tensor ids;                    // i32 (tokens)
  Tensor targets;                // i32 (tokens): the next token, or ignored_target
  Tensor position_ids;           // i32 (tokens): from 0 in every sequence
  std::vector<int64_t> offsets;  // b + 1 of them, from 0 to tokens
  int64_t counted = 0;           // targets that are not ignored

  int64_t tokens() const { return offsets.back(); }
  int64_t sequences() const { return static_cast<int64_t>(offsets.size()) - 1; }
};

// Lays sequences end to end, in the order in which they are added.
class BatchPacker {
 public:
  // `targets` is as long as `ids`, which is not empty; weft::Error otherwise.
  void add(std::span<const int32_t> ids, std::span<const int32_t> targets);
  // weft::Error if nothing was added. The packer is empty afterwards.
  PackedBatch finish();

 private:
  std::vector<int32_t> ids_, targets_, position_ids_;
  std::vector<int64_t> offsets_ = {0};
};

}  // namespace weft::data
