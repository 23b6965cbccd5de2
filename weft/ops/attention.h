#pragma once

#include "weft/autograd/context.h"
#include "weft/ops/mask.h"

namespace weft::ops {

// Vectors of all heads of every row: columns [column, column + heads · width) of a (…, c) variable. Queries, keys and
// values that come from one product are three slices of one variable; they are read where they stand, and so are their
// gradients written.
struct HeadsSource {
  Variable source;
  int64_t column = 0;
};

struct AttentionOptions {
  int64_t heads = 1;
  int64_t kv_heads = 0;  // divides heads; 0: heads
  int64_t head_dim = 0;
  float scale = 0.0f;         // of the scores; 0: 1/√head_dim
  double dropout = 0.0;       // of the weights, while training
  bool need_weights = false;  // take the explicit path and return the weights
};

struct AttentionOutput {
  Variable output;  // the leading dimensions of the queries, then heads · head_dim
  Tensor
      weights;  // (b, h, q, k) f32, after masking and softmax, before dropout; undefined unless asked for. A constant.
};

// softmax(Q·Kᵀ·scale over what the mask allows)·V (Vaswani et al. 2017) for every head of every sequence of the mask.
// All three sources have one element type. Rows that belong to no sequence, and queries that may attend to nothing,
// give zeros.
AttentionOutput attention(Context& ctx, const HeadsSource& query, const HeadsSource& key, const HeadsSource& value,
                          const Mask& mask, const AttentionOptions& options);

}  // namespace weft::ops
