#include "weft/nn/transformer_block.h"

#include "weft/base/error.h"
#include "weft/ops/add.h"

namespace weft::nn {

TransformerBlock::TransformerBlock(Scope scope, const TransformerBlockConfig& config)
    : wiring_(config.wiring),
      dropout_(config.dropout),
      attention_(scope / "attention", config.attention),
      attention_norm_(scope / "attention_norm", config.norm),
      feed_forward_(scope / "feed_forward", config.feed_forward),
      feed_forward_norm_(scope / "feed_forward_norm", config.norm) {
  if (!config.cross_attention) return;
  require(config.cross_attention->kind == AttentionKind::cross,
          "transformer block {}: cross_attention is attention of kind cross", scope.path());
  cross_attention_.emplace(scope / "cross_attention", *config.cross_attention);
  cross_attention_norm_.emplace(scope / "cross_attention_norm", config.norm);
}

Variable TransformerBlock::forward(Context& ctx, const Variable& x, const AttentionCall& call,
                                   const CrossAttentionCall* cross) const {
  require((cross != nullptr) == cross_attention_.has_value(), "transformer block: {}",
          cross == nullptr ? "its cross-attention needs a memory" : "it has no cross-attention for the memory");
  if (wiring_ == Wiring::pre_norm) return forward_pre_norm(ctx, x, call, cross);
  const Variable attended = attention_.forward(ctx, x, {}, call).output;
  Variable y = attention_norm_.add_forward(ctx, x, attended, dropout_).normalised;
  if (cross != nullptr) {
    y = cross_attention_norm_->add_forward(ctx, y, attend_cross(ctx, y, call, *cross), dropout_).normalised;
  }
  const Variable fed = feed_forward_.forward(ctx, y);
  Variable residual = wiring_ == Wiring::post_norm ? y : x;
  if (wiring_ == Wiring::b2t) residual = ops::add(ctx, x, y);
  return feed_forward_norm_.add_forward(ctx, residual, fed, dropout_).normalised;
}

Variable TransformerBlock::forward_pre_norm(Context& ctx, const Variable& x, const AttentionCall& call,
                                            const CrossAttentionCall* cross) const {
  const Variable normalised = attention_norm_.forward(ctx, x, ctx.compute_dtype());
  Variable residual = x;
  Variable branch = attention_.forward(ctx, normalised, {}, call).output;
  if (cross != nullptr) {
    const ops::AddNormResult y = cross_attention_norm_->add_forward(ctx, x, branch, dropout_, ctx.compute_dtype());
    residual = y.sum;
    branch = attend_cross(ctx, y.normalised, call, *cross);
  }
  const ops::AddNormResult y = feed_forward_norm_.add_forward(ctx, residual, branch, dropout_, ctx.compute_dtype());
  return ops::add_dropout(ctx, y.sum, feed_forward_.forward(ctx, y.normalised), dropout_);
}

Variable TransformerBlock::attend_cross(Context& ctx, const Variable& query, const AttentionCall& call,
                                        const CrossAttentionCall& cross) const {
  AttentionCall inner{.mask = cross.mask, .need_weights = call.need_weights};
  if (!cross.projected.empty()) {
    inner.projected_memory = cross.projected[static_cast<size_t>(call.cache_layer)];
  }
  return cross_attention_->forward(ctx, query, cross.memory, inner).output;
}

Variable TransformerBlock::project_memory(Context& ctx, const Variable& memory) const {
  require(cross_attention_.has_value(), "transformer block: it has no cross-attention for the memory");
  return cross_attention_->project_memory(ctx, memory);
}

}  // namespace weft::nn
