#pragma once

#include <cstdint>

#include "weft/kernels/view.h"

namespace weft::kernels {

// Cross-entropy of rows of logits (rows, v) against target ids, with label smoothing ε (Szegedy et al. 2016, PyTorch's
// convention: the target distribution is (1 − ε)·onehot + ε/v). Rows whose target is `ignore_id` count nothing.
struct CrossEntropyRows {
  ConstMatrix logits{};              // f32 or bf16
  const int32_t* targets = nullptr;  // (rows): ignore_id or in [0, v)
  int32_t ignore_id = -100;
  float label_smoothing = 0.0f;
};

// losses[r] = loss of row r (0 where ignored), f32; correct[r] (optional) = whether the first largest logit is the
// target.
void cross_entropy_forward(const CrossEntropyRows& rows, float* losses, uint8_t* correct = nullptr);
// d_logits = scale · ∂losses[r]/∂logits, zero in ignored rows; losses as above (null: not wanted). d_logits may be the
// logits if the element type is the same.
void cross_entropy_backward(const CrossEntropyRows& rows, float scale, MutableMatrix d_logits, float* losses);

}  // namespace weft::kernels
