#pragma once

#include <cstdint>
#include <span>

namespace weft::kernels {

// One parameter's buffers, all f32 of `count` elements.
struct AdamWItem {
  float* value = nullptr;
  const float* gradient = nullptr;
  float* first_moment = nullptr;
  float* second_moment = nullptr;
  int64_t count = 0;
  float weight_decay = 0.0f;
};

struct AdamWStep {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  int64_t step = 1;             // counted from 1, for the bias corrections
  double gradient_scale = 1.0;  // multiplies every gradient first: clipping and the mean over accumulated batches
};

// AdamW (Loshchilov and Hutter 2019) with PyTorch's order of operations:
//   value *= 1 − lr·decay;  m = β1 m + (1 − β1) g;  v = β2 v + (1 − β2) g²
//   value −= lr/(1 − β1^t) · m / (√v / √(1 − β2^t) + ε)
// One threaded pass over all items.
void adamw(std::span<const AdamWItem> items, const AdamWStep& step);

}  // namespace weft::kernels
