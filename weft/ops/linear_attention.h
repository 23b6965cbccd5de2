#pragma once

#include <span>

#include "weft/ops/attention.h"

namespace weft::ops {

// Linear attention (Katharopoulos et al. 2020) for every head of every sequence of the mask: the weights are
// φ(q)·φ(k) / Σ φ(q)·φ(k) with φ = elu + 1, which no softmax stands in the way of summing once for all queries; time
// and memory grow with the tokens. Formula in kernels/linear_attention.h. Sources, sequences, causality and grouped
// heads as ops::attention(); `need_weights` computes the q × k weights as well. A mask with `allowed` takes time that
// grows with the square of the length. weft::Error for dropout of the weights: there are none. `scale` is not used.
//
// `states`: one per sequence for decoding, see kernels::LinearAttention; they are read and written, and nothing may be
// recorded.
AttentionOutput linear_attention(Context& ctx, const HeadsSource& query, const HeadsSource& key,
                                 const HeadsSource& value, const Mask& mask, const AttentionOptions& options,
                                 std::span<float* const> states = {});

}  // namespace weft::ops
