#include "weft/models/bert.h"

#include "weft/base/error.h"
#include "weft/ops/add.h"
#include "weft/ops/dropout.h"
#include "weft/ops/embedding.h"

namespace weft::models {

namespace {

TransformerConfig resolved(TransformerConfig config) {
  require(config.architecture == Architecture::bert, "bert: the config describes the architecture {}",
          name_of(config.architecture));
  config.resolve();
  return config;
}

}  // namespace

Bert::Bert(Scope scope, const TransformerConfig& config)
    : config_(resolved(config)),
      embedding_(scope / "embedding", config_.embedding_config()),
      stack_(scope, config_.stack_config()),
      output_(scope / "output", config_, embedding_.token_weight()) {
  const nn::WeightInitialisation weights{config_.initialisation, config_.initial_deviation, config_.layers};
  const auto linear = [&](int64_t out, kernels::Activation activation) {
    return nn::LinearConfig{.in = config_.d_model,
                            .out = out,
                            .bias = true,
                            .activation = activation,
                            .weight = weights.weight(config_.d_model, out)};
  };
  if (config_.masked_transform) {
    transform_.emplace(scope / "transform", linear(config_.d_model, config_.activation));
    transform_norm_.emplace(scope / "transform_norm", config_.norm_config());
  }
  if (config_.pooler) pooler_.emplace(scope / "pooler", linear(config_.d_model, kernels::Activation::tanh));
  if (config_.classes > 0) {
    classifier_.emplace(scope / "classifier", linear(config_.classes, kernels::Activation::none));
  }
}

Variable Bert::hidden(Context& ctx, const TokenInput& input) const {
  const SequenceLayout layout = layout_of(input, false, config_.max_length, nullptr, "bert");
  const Variable x = embedding_.forward(ctx, input.ids, layout.position_ids, input.segment_ids);
  return stack_.forward(ctx, x, {.mask = layout.mask, .position_ids = layout.position_ids});
}

Variable Bert::transformed(Context& ctx, const Variable& hidden) const {
  if (!transform_) return hidden;
  return transform_norm_->forward(ctx, transform_->forward(ctx, hidden), ctx.compute_dtype());
}

Variable Bert::masked_logits(Context& ctx, const Variable& hidden) const {
  return output_.logits(ctx, transformed(ctx, hidden));
}

Variable Bert::class_logits(Context& ctx, const TokenInput& input, const Variable& hidden) const {
  require(classifier_.has_value(), "bert: this model has no class head; model.classes is 0");
  const SequenceLayout layout = layout_of(input, false, config_.max_length, nullptr, "bert");
  const Variable rows = hidden.reshape({input.ids.numel(), config_.d_model});
  Variable first = ops::select_rows(ctx, rows, first_rows(layout.mask));
  if (pooler_) first = ops::dropout(ctx, pooler_->forward(ctx, first), config_.dropout);
  return classifier_->forward(ctx, first);
}

Variable Bert::loss(Context& ctx, const TokenInput& input, const BertTargets& targets,
                    const ops::CrossEntropyOptions& options) const {
  const Variable x = hidden(ctx, input);
  const Variable tokens = output_.loss(ctx, transformed(ctx, x), targets.tokens, options);
  Variable total = ops::add(ctx, Variable(Tensor::zeros(tokens.shape())), tokens, targets.token_weight);
  if (!targets.classes.defined()) return total;
  const Variable logits = class_logits(ctx, input, x);
  const Variable classes =
      ops::cross_entropy(ctx, logits, targets.classes, {.label_smoothing = options.label_smoothing});
  return ops::add(ctx, total, classes, targets.class_weight);
}

}  // namespace weft::models
