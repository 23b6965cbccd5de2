#pragma once

#include "weft/models/transformer_config.h"
#include "weft/ops/cross_entropy.h"

namespace weft::models {

// From hidden vectors (…, d_model) to logits (…, v) over the vocabulary: a matrix of its own, or that of the token
// embeddings (Press and Wolf 2017). Parameters: weight (v, d_model) unless tied; with config.output_bias bias (v).
class OutputProjection {
 public:
  // `embedding`: the token embeddings (v, d_model), used if config.tie_embeddings says so.
  OutputProjection(Scope scope, const TransformerConfig& config, const Parameter& embedding);

  Variable logits(Context& ctx, const Variable& x) const;
  // Mean cross-entropy of predicting `targets` (…), without the logits ever being whole.
  Variable loss(Context& ctx, const Variable& x, const Tensor& targets, const ops::CrossEntropyOptions& options) const;

 private:
  Variable bias() const { return bias_ == nullptr ? Variable() : Variable(*bias_); }

  const Parameter* weight_;
  const Parameter* bias_ = nullptr;
};

}  // namespace weft::models
