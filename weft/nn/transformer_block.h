#pragma once

#include "weft/nn/attention.h"
#include "weft/nn/feed_forward.h"
#include "weft/nn/norm.h"

namespace weft::nn {

// How a block joins attention A and feed-forward F to its input x (N₁ and N₂ are its norms):
//   pre_norm     y = x + A(N₁(x));    output = y + F(N₂(y))
//   post_norm    y = N₁(x + A(x));    output = N₂(y + F(y))          (Vaswani et al. 2017)
//   block_input  y = N₁(x + A(x));    output = N₂(x + F(y))
//   b2t          y = N₁(x + A(x));    output = N₂(x + y + F(y))      (Takase et al. 2022)
enum class Wiring { pre_norm, post_norm, block_input, b2t };

struct TransformerBlockConfig {
  Wiring wiring = Wiring::pre_norm;
  AttentionConfig attention{};
  FeedForwardConfig feed_forward{};
  NormConfig norm{};
  double dropout = 0.0;  // of the results of attention and feed-forward, before they join the residual stream
};

// One Transformer block: (…, d_model) → (…, d_model), f32 in and out whatever the precision: the residual stream is not
// rounded. Parameters: attention.…, attention_norm.…, feed_forward.…, feed_forward_norm.….
class TransformerBlock {
 public:
  TransformerBlock(Scope scope, const TransformerBlockConfig& config);
  Variable forward(Context& ctx, const Variable& x, const AttentionCall& call) const;

 private:
  Variable forward_pre_norm(Context& ctx, const Variable& x, const AttentionCall& call) const;

  Wiring wiring_;
  double dropout_;
  Attention attention_;
  Norm attention_norm_;
  FeedForward feed_forward_;
  Norm feed_forward_norm_;
};

}  // namespace weft::nn
