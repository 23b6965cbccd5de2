#include "weft/nn/norm.h"

namespace weft::nn {

Norm::Norm(Scope scope, const NormConfig& config)
    : config_(config), weight_(&scope.parameter("weight", {config.d}, Initialiser::ones())) {
  if (config.bias && config.kind == kernels::NormKind::layer_norm) {
    bias_ = &scope.parameter("bias", {config.d}, Initialiser::zeros());
  }
}

ops::NormOptions Norm::options(DType output, double dropout) const {
  return {config_.kind, static_cast<float>(config_.epsilon), dropout, output};
}

Variable Norm::forward(Context& ctx, const Variable& x, DType output) const {
  return ops::norm(ctx, x, *weight_, beta(), options(output, 0.0));
}

ops::AddNormResult Norm::add_forward(Context& ctx, const Variable& x, const Variable& residual, double dropout,
                                     DType output) const {
  return ops::add_norm(ctx, x, residual, *weight_, beta(), options(output, dropout));
}

}  // namespace weft::nn
