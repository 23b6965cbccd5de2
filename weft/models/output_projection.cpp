#include "weft/models/output_projection.h"

#include "weft/ops/linear.h"

namespace weft::models {

OutputProjection::OutputProjection(Scope scope, const TransformerConfig& config, const Parameter& embedding)
    : weight_(&embedding) {
  if (!config.tie_embeddings) {
    const nn::WeightInitialisation weights{config.initialisation, config.initial_deviation, config.layers};
    weight_ = &scope.parameter("weight", {config.vocab_size, config.d_model},
                               weights.weight(config.d_model, config.vocab_size));
  }
  if (config.output_bias) bias_ = &scope.parameter("bias", {config.vocab_size}, Initialiser::zeros());
}

Variable OutputProjection::logits(Context& ctx, const Variable& x) const {
  return ops::linear(ctx, x, *weight_, bias());
}

Variable OutputProjection::loss(Context& ctx, const Variable& x, const Tensor& targets,
                                const ops::CrossEntropyOptions& options) const {
  return ops::linear_cross_entropy(ctx, x, *weight_, bias(), targets, options);
}

}  // namespace weft::models
