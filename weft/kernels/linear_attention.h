#pragma once

#include <cstdint>
#include <span>

#include "weft/kernels/attention.h"

namespace weft::kernels {

// Kernelized linear attention (Katharopoulos et al. 2020, "Transformers are RNNs") of every head of every segment, with
// φ(x) = elu(x) + 1, that is x + 1 above 0 and e^x below:
//   output_i = (φ(q_i)·S_i) / (φ(q_i)·z_i),   S_i = Σ_j φ(k_j) v_jᵀ,   z_i = Σ_j φ(k_j)   over the keys j that i sees.
// Time and memory grow with the tokens, not with their square: the keys and values seen are their sums S and z.
// Grouped heads and who sees whom as in AttentionProblem. A query that sees nothing gives zeros.
struct LinearAttention {
  // `scale` does not enter the formula. Dropout is of weights, and there are none: weft::Error. A boolean mask leaves
  // no sums that queries could share: every query then goes through its keys, in time that grows with the square.
  AttentionProblem problem{};
  ConstHeads q{}, k{}, v{};  // all f32 or all bf16; sums in f32
  // One per segment, or none. What a sequence has seen before its first key here, kv_heads times S (head_dim,
  // value_dim) then z (head_dim), linear_state_size() floats; all zeros at its beginning. Afterwards it holds the
  // segment's keys as well. Under a causal mask there are then as many keys as queries: query i sees what the state
  // held and keys 0 … i.
  std::span<float* const> states{};
};

int64_t linear_state_size(int64_t kv_heads, int64_t head_dim, int64_t value_dim);

// `denominators` (heads, q rows), f32: φ(q_i)·z_i, element (h, row) at h · denominator_stride + row; null: not kept.
struct LinearAttentionForward {
  LinearAttention attention{};
  MutableHeads output{};
  float* denominators = nullptr;
  int64_t denominator_stride = 0;
};
// One chunk of 64 tokens after the other: products of matrices within the chunk, S and z between chunks. Threads share
// out segments and key/value heads; the result does not depend on their number.
void linear_attention_forward(const LinearAttentionForward& call);

// Gradients from saved q, k, v, output and denominators; S and z are computed again, so nothing beyond the arrays named
// here grows with the length. dq, dk and dv are written as attention_backward() writes them. Without states.
struct LinearAttentionBackward {
  LinearAttention attention{};
  ConstHeads output{}, d_output{};
  const float* denominators = nullptr;
  int64_t denominator_stride = 0;
  MutableHeads dq{}, dk{}, dv{};
};
void linear_attention_backward(const LinearAttentionBackward& call);

// The weights that the sums stand for, φ(q_i)·φ(k_j) / Σ_j φ(q_i)·φ(k_j), q × k of them per head: to be looked at.
// Numbered as those of attention_forward_explicit(). Without states.
void linear_attention_weights(const LinearAttention& call, float* weights);

}  // namespace weft::kernels
