#pragma once

#include "weft/autograd/context.h"
#include "weft/nn/initialisation.h"
#include "weft/nn/linear.h"

namespace weft::nn {

struct FeedForwardConfig {
  int64_t d_model = 0;
  int64_t d_ff = 0;
  kernels::Activation activation = kernels::Activation::gelu;
  bool gated = false;  // activation(gate) · up (Shazeer 2020): SwiGLU with silu, GeGLU with gelu
  bool bias = true;
  double dropout = 0.0;  // between activation and down-projection
  WeightInitialisation initialisation{};
};

// down(activation(up(x))): (…, d_model) → (…, d_model). Parameters: up.weight (d_ff, d_model), or gated (2 · d_ff,
// d_model) with rows [gate | up]; up.bias; down.weight (d_model, d_ff); down.bias.
class FeedForward {
 public:
  FeedForward(Scope scope, const FeedForwardConfig& config);
  Variable forward(Context& ctx, const Variable& x) const;

 private:
  FeedForwardConfig config_;
  Linear up_;
  Linear down_;
};

}  // namespace weft::nn
