#pragma once

#include <optional>

#include "weft/autograd/context.h"
#include "weft/nn/initialisation.h"
#include "weft/nn/norm.h"
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
  int64_t segments = 0;              // kinds of segments (sentence A, sentence B; Devlin et al. 2018); 0: none
  std::optional<NormConfig> norm{};  // of the sum, before the dropout
};

// Token vectors plus position and segment vectors: ids i32 (…) → (…, d), f32. Parameters: token.weight (v, d), with
// learned positions position.weight (max_length, d), with segments segment.weight (segments, d), with a norm norm.….
// Sinusoidal positions are computed, not stored with the model.
class Embedding {
 public:
  Embedding(Scope scope, const EmbeddingConfig& config);

  // position_ids and segment_ids i32 of the shape of ids; the first unused when positions are none or rotary, the
  // second without segments, and undefined segment_ids are all 0. weft::Error on an id, position or segment out of
  // range.
  Variable forward(Context& ctx, const Tensor& ids, const Tensor& position_ids, const Tensor& segment_ids = {}) const;
  const Parameter& token_weight() const { return *token_; }

 private:
  EmbeddingConfig config_;
  double scale_ = 1.0;  // of the token vectors
  const Parameter* token_;
  const Parameter* position_ = nullptr;
  const Parameter* segment_ = nullptr;
  std::optional<Norm> norm_;
  Tensor sinusoids_;
};

}  // namespace weft::nn
