#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "weft/nn/transformer_block.h"

namespace weft::nn {

struct TransformerStackConfig {
  int64_t layers = 1;
  TransformerBlockConfig block{};
  bool final_norm = true;
};

// Blocks one after the other, then a norm: (…, d_model) → (…, d_model). Parameters: blocks.<i>.…, final_norm.….
class TransformerStack {
 public:
  TransformerStack(Scope scope, const TransformerStackConfig& config);
  // The final norm's result is in ctx's compute type; without it, f32. The call's cache_layer is set per block.
  // `cross` as for TransformerBlock.
  Variable forward(Context& ctx, Variable x, AttentionCall call, const CrossAttentionCall* cross = nullptr) const;
  // Per block, what CrossAttentionCall::projected takes.
  std::vector<Variable> project_memory(Context& ctx, const Variable& memory) const;

 private:
  std::deque<TransformerBlock> blocks_;
  std::optional<Norm> final_norm_;
};

}  // namespace weft::nn
