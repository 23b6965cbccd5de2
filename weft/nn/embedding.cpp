#include "weft/nn/embedding.h"

#include <cmath>

#include "weft/base/error.h"
#include "weft/ops/add.h"
#include "weft/ops/dropout.h"
#include "weft/ops/embedding.h"

namespace weft::nn {

Embedding::Embedding(Scope scope, const EmbeddingConfig& config) : config_(config) {
  if (config.scale) scale_ = std::sqrt(static_cast<double>(config.d_model));
  token_ = &(scope / "token")
                .parameter("weight", {config.vocab_size, config.d_model}, config.initialisation.embedding(scale_));
  if (config.positions == Positions::learned) {
    position_ = &(scope / "position")
                     .parameter("weight", {config.max_length, config.d_model}, config.initialisation.embedding());
  } else if (config.positions == Positions::sinusoidal) {
    sinusoids_ = sinusoidal_positions(config.max_length, config.d_model);
  }
  if (config.segments > 0) {
    segment_ =
        &(scope / "segment").parameter("weight", {config.segments, config.d_model}, config.initialisation.embedding());
  }
  if (config.norm) norm_.emplace(scope / "norm", *config.norm);
}

Variable Embedding::forward(Context& ctx, const Tensor& ids, const Tensor& position_ids,
                            const Tensor& segment_ids) const {
  require(segment_ != nullptr || !segment_ids.defined(), "embedding: there are segment ids, but no segments");
  const bool sum_is_whole = segment_ == nullptr && !norm_;
  ops::EmbeddingOptions options;
  options.scale = static_cast<float>(scale_);
  if (sum_is_whole) options.dropout = config_.dropout;
  Variable positions;
  if (position_ != nullptr) positions = Variable(*position_);
  if (sinusoids_.defined()) positions = Variable(sinusoids_);
  Variable sum = ops::embedding(ctx, *token_, ids, positions, position_ids, options);
  if (sum_is_whole) return sum;
  if (segment_ != nullptr) {
    const Tensor segments = segment_ids.defined() ? segment_ids : Tensor::zeros(ids.shape(), DType::i32);
    sum = ops::add(ctx, sum, ops::embedding(ctx, *segment_, segments, {}, {}));
  }
  if (norm_) sum = norm_->forward(ctx, sum);
  return ops::dropout(ctx, sum, config_.dropout);
}

}  // namespace weft::nn
