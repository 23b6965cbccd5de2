#pragma once

#include "weft/ops/attention.h"

namespace weft::ops {

// The weights of PyTorch's torch.nn.functional.multi_head_attention_forward, under their names.
struct MultiHeadWeights {
  Variable in_proj_weight{};   // (3 · d, d), rows [query | key | value]; or, in its place, the next three
  Variable q_proj_weight{};    // (d, d)
  Variable k_proj_weight{};    // (d, width of key)
  Variable v_proj_weight{};    // (d, width of value)
  Variable in_proj_bias{};     // (3 · d) or undefined
  Variable bias_k{};           // d numbers, such as (1, 1, d): one more key, and
  Variable bias_v{};           // its value, behind every sequence; both or neither
  Variable out_proj_weight{};  // (d, d)
  Variable out_proj_bias{};    // (d) or undefined
};

// Its other arguments. As there, and unlike everywhere else in weft, true in a boolean mask means: may NOT attend.
struct MultiHeadOptions {
  int64_t num_heads = 1;       // divides d
  Tensor key_padding_mask{};   // (b, k): boolean, true = no query sees this key; or numbers added to the scores
  Tensor attn_mask{};          // (q, k) or (b · num_heads, q, k): boolean, true = may not attend; or numbers to add
  bool add_zero_attn = false;  // one more key and value of zeros behind every sequence, after bias_k
  double dropout_p = 0.0;      // of the weights, while ctx.training
  bool is_causal = false;      // query i sees key j only if j ≤ i, beside what the masks say
  bool need_weights = false;
  bool average_attn_weights = true;  // (b, q, k) over all heads, else (b, num_heads, q, k)
};

// Multi-head attention (Vaswani et al. 2017) with its projections: query (b, q, d), key (b, k, …), value (b, k, …) →
// output (b, q, d), weights with as many columns as there are keys, appended ones included, before dropout. Without b:
// query (q, d), weights (q, k) or (num_heads, q, k). Batch first, where PyTorch's function has the tokens first. Query,
// key and value may be one variable. Rows that may attend to nothing have weights zero, so that their output is
// out_proj_bias. Products run in ctx's precision.
AttentionOutput multi_head_attention(Context& ctx, const Variable& query, const Variable& key, const Variable& value,
                                     const MultiHeadWeights& weights, const MultiHeadOptions& options);

}  // namespace weft::ops
