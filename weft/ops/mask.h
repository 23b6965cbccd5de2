#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/kernels/attention.h"
#include "weft/tensor/tensor.h"

namespace weft {

// Who may attend to whom, described and never written out: segments (which rows of a batch form a sequence, how many of
// its keys are not padding), causality, and an optional boolean tensor for everything else. The fused kernels walk only
// what is allowed.
struct Mask {
  // Query i of a sequence sees key j only if j ≤ i + (keys − queries): with a cache, the keys before the first new
  // query too.
  bool causal = false;
  // One entry per sequence. Empty: every (b, s, d) input is b full sequences, and a (tokens, d) input is one.
  std::vector<kernels::AttentionSegment> segments{};
  // (b or 1, h or 1, q, k) or (q, k), u8 or bool: true = may attend. Undefined: no further restriction.
  Tensor allowed{};

  // Sequences laid end to end: sequence i owns rows offsets[i] … offsets[i + 1] − 1.
  static Mask packed(std::span<const int64_t> offsets, bool causal);
  // b sequences of s rows each, of which the first lengths[i] are not padding.
  static Mask padded(std::span<const int64_t> lengths, int64_t s, bool causal);
  // Queries of one packing, keys of another (cross-attention).
  static Mask packed_cross(std::span<const int64_t> q_offsets, std::span<const int64_t> k_offsets);
};

}  // namespace weft
