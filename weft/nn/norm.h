#pragma once

#include "weft/autograd/context.h"
#include "weft/ops/norm.h"

namespace weft::nn {

struct NormConfig {
  int64_t d = 0;
  kernels::NormKind kind = kernels::NormKind::layer_norm;
  double epsilon = 1e-5;
  bool bias = true;  // layer_norm only
};

// LayerNorm (Ba et al. 2016) or RMSNorm (Zhang and Sennrich 2019) over the last dimension. Parameters: weight (d), bias
// (d).
class Norm {
 public:
  Norm(Scope scope, const NormConfig& config);

  // (…, d) → (…, d) of element type `output`.
  Variable forward(Context& ctx, const Variable& x, DType output = DType::f32) const;
  // sum = x + dropout(residual) and its norm, in one pass over memory.
  ops::AddNormResult add_forward(Context& ctx, const Variable& x, const Variable& residual, double dropout,
                                 DType output = DType::f32) const;

 private:
  ops::NormOptions options(DType output, double dropout) const;
  Variable beta() const { return bias_ == nullptr ? Variable() : Variable(*bias_); }

  NormConfig config_;
  const Parameter* weight_;
  const Parameter* bias_ = nullptr;
};

}  // namespace weft::nn
