#pragma once

#include "weft/autograd/context.h"
#include "weft/nn/initialisation.h"
#include "weft/nn/positions.h"

namespace weft::nn {

struct EmbeddingConfig {
  int64_t vocab_size = 0;
  int64_t d_model = 0;
  int64_t max_length = 0;  // rows of the position table
  Positions positions = Positions::learned;
  bool scale = false;    // token vectors times √d_model
  double dropout = 0.0;  // of the sum
  WeightInitialisation initialisation{};
};

// Token vectors plus position vectors: ids i32 (…) → (…, d), f32. Parameters: token.weight (v, d), and with learned
// positions position.weight (max_length, d). Sinusoidal positions are computed, not stored with the model.
class Embedding {
 public:
  Embedding(Scope scope, const EmbeddingConfig& config);

  // position_ids i32 of the shape of ids; unused when positions are none or rotary. weft::Error on an id or position
  // out of range.
  Variable forward(Context& ctx, const Tensor& ids, const Tensor& position_ids) const;
  const Parameter& token_weight() const { return *token_; }

 private:
  EmbeddingConfig config_;
  const Parameter* token_;
  const Parameter* position_ = nullptr;
  Tensor sinusoids_;
};

}  // namespace weft::nn
