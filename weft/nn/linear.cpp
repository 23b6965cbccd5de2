#include "weft/nn/linear.h"

#include "weft/base/error.h"
#include "weft/ops/linear.h"

namespace weft::nn {

Linear::Linear(Scope scope, const LinearConfig& config) : activation_(config.activation) {
  require(config.in > 0 && config.out > 0, "linear {}: sizes are positive, got {} → {}", scope.path(), config.in,
          config.out);
  weight_ = &scope.parameter("weight", {config.out, config.in}, config.weight);
  if (config.bias) bias_ = &scope.parameter("bias", {config.out}, Initialiser::zeros());
}

Variable Linear::forward(Context& ctx, const Variable& x) const {
  return ops::linear(ctx, x, *weight_, bias_ == nullptr ? Variable() : Variable(*bias_), activation_);
}

}  // namespace weft::nn
