#pragma once

#include <optional>

#include "weft/autograd/context.h"
#include "weft/models/output_projection.h"
#include "weft/models/token_input.h"
#include "weft/models/transformer_config.h"
#include "weft/nn/embedding.h"
#include "weft/nn/linear.h"
#include "weft/nn/norm.h"
#include "weft/nn/transformer_stack.h"

namespace weft::models {

// What Bert learns from, and how much each part weighs.
struct BertTargets {
  Tensor tokens{};   // i32, shape of the ids: the token that belongs there, or the ignored id
  Tensor classes{};  // i32 (b), one class per sequence; undefined: the class head is left alone
  float token_weight = 1.0f;
  float class_weight = 1.0f;
};

// An encoder-only model (Devlin et al. 2018): a masked-token head on every position, and with config.classes a class
// head on the first position of every sequence.
class Bert {
 public:
  // `config` of architecture bert. Parameter paths: embedding.…, blocks.<i>.…, final_norm.…, with masked_transform
  // transform.weight, transform.bias and transform_norm.…, output.…; with classes classifier.weight, classifier.bias,
  // and with pooler pooler.weight, pooler.bias.
  Bert(Scope scope, const TransformerConfig& config);
  Bert(const Bert&) = delete;
  Bert& operator=(const Bert&) = delete;

  // token_weight · mean cross-entropy of the tokens + class_weight · mean cross-entropy of the classes, a scalar
  // (nats).
  Variable loss(Context& ctx, const TokenInput& input, const BertTargets& targets,
                const ops::CrossEntropyOptions& options = {}) const;

  // (…, d_model) for every position: what the heads below read.
  Variable hidden(Context& ctx, const TokenInput& input) const;
  Variable masked_logits(Context& ctx, const Variable& hidden) const;  // (…, v)
  // (b, classes), for the sequences of the input that `hidden` came from. weft::Error without a class head.
  Variable class_logits(Context& ctx, const TokenInput& input, const Variable& hidden) const;

  const TransformerConfig& config() const { return config_; }

 private:
  Variable transformed(Context& ctx, const Variable& hidden) const;

  TransformerConfig config_;
  nn::Embedding embedding_;
  nn::TransformerStack stack_;
  std::optional<nn::Linear> transform_;
  std::optional<nn::Norm> transform_norm_;
  OutputProjection output_;
  std::optional<nn::Linear> pooler_;
  std::optional<nn::Linear> classifier_;
};

}  // namespace weft::models
