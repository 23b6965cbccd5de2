#include "weft/ops/mask.h"

#include "weft/base/error.h"

namespace weft {

namespace {

void check_offsets(std::span<const int64_t> offsets) {
  require(!offsets.empty() && offsets.front() == 0, "mask: offsets begin with 0, one more than there are sequences");
  for (size_t i = 1; i < offsets.size(); ++i) {
    require(offsets[i] >= offsets[i - 1], "mask: offsets never fall, but {} follows {}", offsets[i], offsets[i - 1]);
  }
}

}  // namespace

Mask Mask::packed(std::span<const int64_t> offsets, bool causal) {
  Mask mask = packed_cross(offsets, offsets);
  mask.causal = causal;
  return mask;
}

Mask Mask::padded(std::span<const int64_t> lengths, int64_t s, bool causal) {
  Mask mask;
  mask.causal = causal;
  for (size_t i = 0; i < lengths.size(); ++i) {
    require(lengths[i] >= 0 && lengths[i] <= s, "mask: sequence {} has length {}, expected 0 to {}", i, lengths[i], s);
    const int64_t begin = static_cast<int64_t>(i) * s;
    // Padding at the end never asks under a causal mask: it would see the keys before it, for nothing.
    mask.segments.push_back({begin, causal ? lengths[i] : s, begin, lengths[i]});
  }
  return mask;
}

Mask Mask::packed_cross(std::span<const int64_t> q_offsets, std::span<const int64_t> k_offsets) {
  check_offsets(q_offsets);
  check_offsets(k_offsets);
  require(q_offsets.size() == k_offsets.size(), "mask: {} query sequences but {} key sequences", q_offsets.size() - 1,
          k_offsets.size() - 1);
  Mask mask;
  for (size_t i = 0; i + 1 < q_offsets.size(); ++i) {
    mask.segments.push_back(
        {q_offsets[i], q_offsets[i + 1] - q_offsets[i], k_offsets[i], k_offsets[i + 1] - k_offsets[i]});
  }
  return mask;
}

}  // namespace weft
