#pragma once

#include <cstdint>
#include <span>

#include "weft/kernels/dropout.h"
#include "weft/kernels/view.h"

namespace weft::kernels {

// One sequence pair of a packed or padded batch: queries and keys that may see each other.
struct AttentionSegment {
  int64_t q_begin = 0;  // first row in q, output and their gradients
  int64_t q_length = 0;
  int64_t k_begin = 0;   // first row in k, v and their gradients
  int64_t k_length = 0;  // keys that are not padding
};

// Scaled dot-product attention (Vaswani et al. 2017) of every head of every segment:
//   output = dropout(softmax(scale · QKᵀ, over what may be attended to)) V
// Query head h reads key/value head h / (heads / kv_heads) (grouped queries, Ainslie et al. 2023).
// A query that may attend to nothing gives zeros: output, weights and gradients.
struct AttentionProblem {
  std::span<const AttentionSegment> segments;
  int64_t heads = 0;
  int64_t kv_heads = 0;  // divides heads
  int64_t head_dim = 0;
  int64_t value_dim = 0;  // width of v and output per head; 0 means head_dim
  float scale = 1.0f;
  // Query i of a segment sees key j only if j ≤ i + (k_length − q_length): the last query sees every key, as with a
  // cache.
  bool causal = false;
  // True (non-zero) = may attend. Element (segment s, head h, query i, key j) at
  // allowed[s·allowed_segment_stride + h·allowed_head_stride + i·allowed_query_stride + j]; strides may be 0. Null: all
  // may.
  const uint8_t* allowed = nullptr;
  int64_t allowed_segment_stride = 0;
  int64_t allowed_head_stride = 0;
  int64_t allowed_query_stride = 0;
  // Of the weights. Element (segment s, head h, query i, key j) is number ((s·heads + h)·max_q + i)·max_k + j, with
  // max_q and max_k the longest q_length and k_length of the segments.
  Dropout dropout{};
};

// q, k, v and output are all f32 or all bf16; products and softmax in f32. `log_sum_exp` (heads, q rows), f32: the
// logarithm of each softmax's denominator including the scale, −∞ for a query that sees nothing; null: not kept.
// Element (h, row) is at h · log_sum_exp_stride + row. Never holds q × k numbers: tiles with a running softmax (Dao et
// al. 2022).
struct AttentionForward {
  AttentionProblem problem{};
  ConstHeads q{}, k{}, v{};
  MutableHeads output{};
  float* log_sum_exp = nullptr;
  int64_t log_sum_exp_stride = 0;
};
void attention_forward(const AttentionForward& call);

// Gradients from saved q, k, v, output and log_sum_exp; weights are computed again tile by tile. dq, dk and dv are
// written, not accumulated, and have the element type of q; rows that belong to no segment (padding) are left as they
// are. Grouped heads: dk and dv sum over the query heads of the group. Same result for any thread count.
struct AttentionBackward {
  AttentionProblem problem{};
  ConstHeads q{}, k{}, v{}, output{}, d_output{};
  const float* log_sum_exp = nullptr;
  int64_t log_sum_exp_stride = 0;
  MutableHeads dq{}, dk{}, dv{};
};
void attention_backward(const AttentionBackward& call);

// The explicit path: the same output, and every weight (after masking and softmax, before dropout) as f32, element (s,
// h, i, j) at weights[((s·heads + h)·max_q + i)·max_k + j]; zero outside a segment's lengths.
void attention_forward_explicit(const AttentionForward& call, float* weights);

}  // namespace weft::kernels
