#include "weft/nn/transformer_block.h"

#include "weft/ops/add.h"

namespace weft::nn {

TransformerBlock::TransformerBlock(Scope scope, const TransformerBlockConfig& config)
    : wiring_(config.wiring),
      dropout_(config.dropout),
      attention_(scope / "attention", config.attention),
      attention_norm_(scope / "attention_norm", config.norm),
      feed_forward_(scope / "feed_forward", config.feed_forward),
      feed_forward_norm_(scope / "feed_forward_norm", config.norm) {}

Variable TransformerBlock::forward(Context& ctx, const Variable& x, const AttentionCall& call) const {
  if (wiring_ == Wiring::pre_norm) return forward_pre_norm(ctx, x, call);
  const Variable attended = attention_.forward(ctx, x, {}, call).output;
  const Variable y = attention_norm_.add_forward(ctx, x, attended, dropout_).normalised;
  const Variable fed = feed_forward_.forward(ctx, y);
  Variable residual = wiring_ == Wiring::post_norm ? y : x;
  if (wiring_ == Wiring::b2t) residual = ops::add(ctx, x, y);
  return feed_forward_norm_.add_forward(ctx, residual, fed, dropout_).normalised;
}

Variable TransformerBlock::forward_pre_norm(Context& ctx, const Variable& x, const AttentionCall& call) const {
  const Variable normalised = attention_norm_.forward(ctx, x, ctx.compute_dtype());
  const Variable attended = attention_.forward(ctx, normalised, {}, call).output;
  const ops::AddNormResult y = feed_forward_norm_.add_forward(ctx, x, attended, dropout_, ctx.compute_dtype());
  return ops::add_dropout(ctx, y.sum, feed_forward_.forward(ctx, y.normalised), dropout_);
}

}  // namespace weft::nn
