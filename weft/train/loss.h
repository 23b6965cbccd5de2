#pragma once

#include "weft/autograd/context.h"
#include "weft/data/batch.h"
#include "weft/models/any_model.h"

namespace weft::train {

// The rows of a batch as a model takes them. `causal`: padding at the end of a sequence then asks for nothing.
models::TokenInput input_of(const data::TokenRows& rows, bool causal);

struct LossSettings {
  float label_smoothing = 0.0f;
  float token_weight = 1.0f;         // of the masked-token loss of Bert
  float class_weight = 1.0f;         // of the class loss of Bert
  double teacher_probability = 1.0;  // encoder–decoder models: that the decoder reads the true token, not its own guess
};

// What training makes small, a scalar: the mean cross-entropy (nats) of the batch's targets; for Bert the weighted sum
// of that and of the class loss. weft::Error for a batch without the parts that the model's architecture needs.
//
// With a teacher probability below 1 the decoder of an encoder–decoder model is run twice: what a first pass, without
// gradient, takes for the most probable token replaces the true one among its inputs where a draw says so (scheduled
// sampling, Bengio et al. 2015, in the two-pass form for Transformers of Mihaylova and Martins 2019).
Variable loss_of(Context& ctx, const models::AnyModel& model, const data::Batch& batch, const LossSettings& settings);

}  // namespace weft::train
