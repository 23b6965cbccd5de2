#pragma once

#include <cstdint>

#include "weft/autograd/context.h"

namespace weft::ops {

struct CrossEntropyOptions {
  int32_t ignore_id = -100;      // targets that count nothing
  float label_smoothing = 0.0f;  // in [0, 1)
};

// Mean over the counted rows of −log softmax(logits)[target], a scalar; 0 if no row counts. logits (…, v), targets i32
// (…).
Variable cross_entropy(Context& ctx, const Variable& logits, const Tensor& targets,
                       const CrossEntropyOptions& options = {});

// The same for logits = x · weightᵀ + bias, in chunks of rows, so that (tokens, v) numbers never exist: x (…, d),
// weight (v, d), bias (v) or undefined. When recorded, the gradients of x, weight and bias are computed chunk by chunk
// in the same pass (backward only scales them): computing the logits a second time would cost another third of the
// products.
Variable linear_cross_entropy(Context& ctx, const Variable& x, const Variable& weight, const Variable& bias,
                              const Tensor& targets, const CrossEntropyOptions& options = {});

}  // namespace weft::ops
