#pragma once

#include <optional>

#include "weft/ops/attention.h"

namespace weft::ops {

// The arguments of PyTorch's torch.nn.functional.scaled_dot_product_attention, under their names.
struct ScaledDotProductOptions {
  // Broadcast to (b, h, q, k), as many dimensions or fewer. Boolean (u8 as well): true = may attend. f32 or bf16: added
  // to the scores, −∞ = may not attend; a constant.
  Tensor attn_mask{};
  double dropout_p = 0.0;        // of the weights, while ctx.training
  bool is_causal = false;        // query i sees key j only if j ≤ i, counted from the first of both whatever q and k
  std::optional<float> scale{};  // of the scores; none: 1/√e
  bool enable_gqa = false;       // key and value may have fewer heads: a divisor of h
  bool need_weights = false;     // beyond PyTorch's: return the weights
};

// softmax(Q·Kᵀ·scale + mask)·V (Vaswani et al. 2017) on separate tensors, heads before tokens:
//   query (b, h, q, e), key (b, kv_heads, k, e), value (b, kv_heads, k, w) → output (b, h, q, w), weights (b, h, q, k)
// all of one element type. Without b, or without b and h, the results have as many dimensions as the query. A query
// that may attend to nothing gives zeros: output, weights and gradients. A mask that adds numbers takes the explicit
// path (see scored_attention.h), everything else without weights the fused one.
AttentionOutput scaled_dot_product_attention(Context& ctx, const Variable& query, const Variable& key,
                                             const Variable& value, const ScaledDotProductOptions& options = {});

}  // namespace weft::ops
