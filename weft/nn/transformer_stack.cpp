#include "weft/nn/transformer_stack.h"

#include "weft/base/error.h"

namespace weft::nn {

TransformerStack::TransformerStack(Scope scope, const TransformerStackConfig& config) {
  require(config.layers > 0, "transformer: at least one layer, got {}", config.layers);
  for (int64_t i = 0; i < config.layers; ++i) blocks_.emplace_back(scope / "blocks" / i, config.block);
  if (config.final_norm) final_norm_.emplace(scope / "final_norm", config.block.norm);
}

Variable TransformerStack::forward(Context& ctx, Variable x, AttentionCall call,
                                   const CrossAttentionCall* cross) const {
  call.cache_layer = 0;
  for (const TransformerBlock& block : blocks_) {
    x = block.forward(ctx, x, call, cross);
    ++call.cache_layer;
  }
  return final_norm_ ? final_norm_->forward(ctx, x, ctx.compute_dtype()) : x;
}

std::vector<Variable> TransformerStack::project_memory(Context& ctx, const Variable& memory) const {
  std::vector<Variable> projected;
  for (const TransformerBlock& block : blocks_) projected.push_back(block.project_memory(ctx, memory));
  return projected;
}

}  // namespace weft::nn
