#pragma once

#include <optional>
#include <span>

#include "weft/nn/attention.h"
#include "weft/nn/feed_forward.h"
#include "weft/nn/norm.h"

namespace weft::nn {

// How a block joins attention A and feed-forward F to its input x (N₁, N₂ and N₃ are its norms):
//   pre_norm     y = x + A(N₁(x));    output = y + F(N₃(y))
//   post_norm    y = N₁(x + A(x));    output = N₃(y + F(y))          (Vaswani et al. 2017)
//   block_input  y = N₁(x + A(x));    output = N₃(x + F(y))
//   b2t          y = N₁(x + A(x));    output = N₃(x + y + F(y))      (Takase et al. 2022)
// A decoder block of an encoder–decoder model has cross-attention C between the two: y becomes
//   pre_norm     y + C(N₂(y));        the others: N₂(y + C(y)).
enum class Wiring { pre_norm, post_norm, block_input, b2t };

struct TransformerBlockConfig {
  Wiring wiring = Wiring::pre_norm;
  AttentionConfig attention{};
  std::optional<AttentionConfig> cross_attention{};  // of kind cross
  FeedForwardConfig feed_forward{};
  NormConfig norm{};
  double dropout = 0.0;  // of the results of attention and feed-forward, before they join the residual stream
};

// What the blocks of a decoder attend to beside their own sequence.
struct CrossAttentionCall {
  Variable memory{};  // (…, d_model), the encoder's output
  Mask mask{};        // which rows of the queries see which rows of the memory
  // Per block, Attention::project_memory() of the memory; empty: made anew in this call.
  std::span<const Variable> projected{};
};

// One Transformer block: (…, d_model) → (…, d_model), f32 in and out whatever the precision: the residual stream is not
// rounded. Parameters: attention.…, attention_norm.…, feed_forward.…, feed_forward_norm.…, and with cross-attention
// cross_attention.…, cross_attention_norm.….
class TransformerBlock {
 public:
  TransformerBlock(Scope scope, const TransformerBlockConfig& config);
  // `cross` is given if and only if the block has cross-attention; weft::Error otherwise.
  Variable forward(Context& ctx, const Variable& x, const AttentionCall& call,
                   const CrossAttentionCall* cross = nullptr) const;
  // See Attention::project_memory().
  Variable project_memory(Context& ctx, const Variable& memory) const;

 private:
  Variable forward_pre_norm(Context& ctx, const Variable& x, const AttentionCall& call,
                            const CrossAttentionCall* cross) const;
  Variable attend_cross(Context& ctx, const Variable& query, const AttentionCall& call,
                        const CrossAttentionCall& cross) const;

  Wiring wiring_;
  double dropout_;
  Attention attention_;
  Norm attention_norm_;
  std::optional<Attention> cross_attention_;
  std::optional<Norm> cross_attention_norm_;
  FeedForward feed_forward_;
  Norm feed_forward_norm_;
};

}  // namespace weft::nn
