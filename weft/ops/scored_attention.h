#pragma once

#include <cstdint>
#include <vector>

#include "weft/kernels/scored_attention.h"
#include "weft/ops/attention.h"

namespace weft::ops {

// The buckets of T5 (Raffel et al. 2020): half of them (with `bidirectional` a quarter on each side) hold one distance
// each, the others grow logarithmically up to max_distance, beyond which all share the last. Without `bidirectional`
// keys behind the query share bucket 0 with the query's own position.
struct DistanceBuckets {
  int64_t buckets = 32;
  int64_t max_distance = 128;
  bool bidirectional = true;
};
// The bucket of distance = key position − query position. weft::Error for too few buckets.
int64_t bucket_of(const DistanceBuckets& buckets, int64_t distance);

// The slopes of ALiBi (Press et al. 2022), (heads) f32: for a power of two 2^(−8/heads), 2^(−16/heads), …; otherwise
// those of the next lower power of two, then every second one of the next higher.
Tensor alibi_slopes(int64_t heads);

// What beside Q·Kᵀ makes the weights; see kernels/scored_attention.h for the formula.
struct AttentionScoring {
  kernels::WeightRule rule = kernels::WeightRule::softmax;
  Variable relative_keys{}, relative_values{};  // (2 · max_distance + 1, head_dim), f32; undefined: none
  Tensor slopes{};                              // (heads) f32; undefined: none
  Variable bucket_bias{};                       // (buckets, heads), f32; undefined: none
  DistanceBuckets buckets{};
  // (q, k) or (b or 1, h or 1, q, k), f32: added to the scores, −∞ = may not attend. A constant; undefined: none.
  Tensor additive{};
};

// ops::attention() with these scores: relative positions (Shaw et al. 2018), ALiBi, T5's bias, hard attention,
// numbers of the caller's own. The explicit path: it holds the q × k weights of one head of one sequence per thread at
// a time, and computes them again in backward.
AttentionOutput scored_attention(Context& ctx, const HeadsSource& query, const HeadsSource& key,
                                 const HeadsSource& value, const Mask& mask, const AttentionOptions& options,
                                 const AttentionScoring& scoring);

}  // namespace weft::ops
