#include "weft/nn/feed_forward.h"

#include "weft/ops/activation.h"
#include "weft/ops/dropout.h"

namespace weft::nn {

namespace {

LinearConfig up_config(const FeedForwardConfig& config) {
  return {.in = config.d_model,
          .out = config.gated ? 2 * config.d_ff : config.d_ff,
          .bias = config.bias,
          .activation = config.gated ? kernels::Activation::none : config.activation,
          .weight = config.initialisation.weight(config.d_model, config.d_ff)};
}

LinearConfig down_config(const FeedForwardConfig& config) {
  return {.in = config.d_ff,
          .out = config.d_model,
          .bias = config.bias,
          .weight = config.initialisation.residual_weight(config.d_ff, config.d_model)};
}

}  // namespace

FeedForward::FeedForward(Scope scope, const FeedForwardConfig& config)
    : config_(config), up_(scope / "up", up_config(config)), down_(scope / "down", down_config(config)) {}

Variable FeedForward::forward(Context& ctx, const Variable& x) const {
  Variable hidden = up_.forward(ctx, x);
  if (config_.gated) hidden = ops::gated_activation(ctx, hidden, config_.activation);
  hidden = ops::dropout(ctx, hidden, config_.dropout);
  return down_.forward(ctx, hidden);
}

}  // namespace weft::nn
