#include "weft/nn/embedding.h"

#include <cmath>

#include "weft/base/error.h"
#include "weft/ops/embedding.h"

namespace weft::nn {

Embedding::Embedding(Scope scope, const EmbeddingConfig& config) : config_(config) {
  token_ =
      &(scope / "token").parameter("weight", {config.vocab_size, config.d_model}, config.initialisation.embedding());
  if (config.positions == Positions::learned) {
    position_ = &(scope / "position")
                     .parameter("weight", {config.max_length, config.d_model}, config.initialisation.embedding());
  } else if (config.positions == Positions::sinusoidal) {
    sinusoids_ = sinusoidal_positions(config.max_length, config.d_model);
  }
}

Variable Embedding::forward(Context& ctx, const Tensor& ids, const Tensor& position_ids) const {
  ops::EmbeddingOptions options;
  if (config_.scale) options.scale = std::sqrt(static_cast<float>(config_.d_model));
  options.dropout = config_.dropout;
  Variable positions;
  if (position_ != nullptr) positions = Variable(*position_);
  if (sinusoids_.defined()) positions = Variable(sinusoids_);
  return ops::embedding(ctx, *token_, ids, positions, position_ids, options);
}

}  // namespace weft::nn
