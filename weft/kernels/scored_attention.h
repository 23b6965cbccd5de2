#pragma once

#include <cstdint>
#include <span>

#include "weft/kernels/attention.h"

namespace weft::kernels {

// From scores to weights: their softmax, or weight 1 on the best key (the first of equals) with the gradient that the
// softmax would have had (straight-through; Bengio et al. 2013).
enum class WeightRule { softmax, hard };

// What is added to scaled dot-product attention's scores and values by the distance of key from query. With positions
// p_i = i + offset of the queries and j of the keys, offset = k_length − q_length under a causal mask (a cache holds
// the keys before the first query) and 0 otherwise:
//   score_ij = scale · q_i·(k_j + K[c]) − slope_h · |j − p_i| + B[bucket(j − p_i), h]
//   output_i = Σ_j weight_ij (v_j + V[c]),   c = clip(j − p_i, −max_distance, max_distance) + max_distance
// K (2 · max_distance + 1, head_dim) and V (…, value_dim): Shaw et al. 2018; slopes: ALiBi (Press et al. 2022); B
// (buckets, heads): T5 (Raffel et al. 2020). Null where not used.
struct DistanceTerms {
  const float* relative_keys = nullptr;
  const float* relative_values = nullptr;
  int64_t max_distance = 0;
  const float* slopes = nullptr;         // (heads)
  const float* bucket_bias = nullptr;    // (buckets, heads)
  std::span<const int32_t> bucket_of{};  // of the distances −bucket_zero, …, 0, …
  int64_t bucket_zero = 0;
};

// Numbers added to the scores: element (segment s, head h, query i, key j) at data[s·segment_stride + h·head_stride +
// i·query_stride + j]; strides may be 0. −∞: may not attend. Null: nothing is added.
struct AdditiveMask {
  const float* data = nullptr;
  int64_t segment_stride = 0;
  int64_t head_stride = 0;
  int64_t query_stride = 0;
};

// Attention by its scores, never more than 64 queries × k numbers of one head per thread. Everything else as
// kernels::AttentionForward. Threads share out heads, segments and, where these are few, queries; backward in a way
// that is the same for every number of threads, so that the result does not depend on it.
struct ScoredAttention {
  AttentionProblem problem{};
  WeightRule rule = WeightRule::softmax;
  DistanceTerms terms{};
  AdditiveMask additive{};
  ConstHeads q{}, k{}, v{};
};

// `weights` as attention_forward_explicit(); null: not kept.
void scored_attention_forward(const ScoredAttention& call, const MutableHeads& output, float* weights);

// Where the gradients go. dq, dk and dv are written where a segment owns the row; those of the tables are added to what
// is there, null where not wanted.
struct ScoredAttentionGradients {
  MutableHeads dq{}, dk{}, dv{};
  float* relative_keys = nullptr;
  float* relative_values = nullptr;
  float* bucket_bias = nullptr;
};
// The weights are computed again.
void scored_attention_backward(const ScoredAttention& call, const ConstHeads& d_output,
                               const ScoredAttentionGradients& gradients);

}  // namespace weft::kernels
