#pragma once

#include "weft/autograd/context.h"
#include "weft/kernels/activation.h"

namespace weft::nn {

struct LinearConfig {
  int64_t in = 0;
  int64_t out = 0;
  bool bias = true;
  kernels::Activation activation = kernels::Activation::none;
  Initialiser weight = Initialiser::normal(0.02);
};

// y = activation(x · weightᵀ + bias): (…, in) → (…, out). Parameters: weight (out, in), bias (out).
class Linear {
 public:
  Linear(Scope scope, const LinearConfig& config);
  Variable forward(Context& ctx, const Variable& x) const;
  const Parameter& weight() const { return *weight_; }

 private:
  const Parameter* weight_;
  const Parameter* bias_ = nullptr;
  kernels::Activation activation_;
};

}  // namespace weft::nn
