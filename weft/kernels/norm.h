#pragma once

#include "weft/kernels/dropout.h"
#include "weft/kernels/view.h"

namespace weft::kernels {

enum class NormKind { layer_norm, rms_norm };

// Norms over the last dimension of a (rows, d) matrix, fused with the residual sum before it:
//
//   s = x + dropout(residual)                         (s = x without residual)
//   layer_norm: y = (s − mean) · rstd · gamma + beta   rstd = 1/√(var + ε)    (Ba et al. 2016)
//   rms_norm:   y = s · rstd · gamma                   rstd = 1/√(mean(s²) + ε)   (Zhang and Sennrich 2019)
//
// x, residual, sum and y are f32 or bf16 independently; statistics, gamma and beta are f32.
struct NormForward {
  NormKind kind = NormKind::layer_norm;
  float epsilon = 1e-5f;
  ConstMatrix x{};
  ConstMatrix residual{};        // data null: none
  Dropout dropout{};             // of the residual
  const float* gamma = nullptr;  // (d)
  const float* beta = nullptr;   // (d) or null
  MutableMatrix sum{};           // data null: not wanted (allowed only without residual)
  MutableMatrix y{};
  float* mean = nullptr;  // (rows), layer_norm only; null: not kept
  float* rstd = nullptr;  // (rows); null: not kept
};
void norm_forward(const NormForward& problem);

// ds = dsum + ∂y/∂s · dy;  dx = ds (accumulated if asked);  dresidual = dropout(ds).
// dgamma and dbeta (f32, (d)) are accumulated when `accumulate_parameters`, written otherwise. The sums over rows are
// taken in a fixed order, so that the result does not depend on the thread count.
struct NormBackward {
  NormKind kind = NormKind::layer_norm;
  ConstMatrix s{};  // the input of the norm: x, or sum where there was a residual
  ConstMatrix dy{};
  ConstMatrix dsum{};           // gradient that reaches `sum` from elsewhere; data null: none
  const float* mean = nullptr;  // layer_norm only
  const float* rstd = nullptr;
  const float* gamma = nullptr;
  Dropout dropout{};   // of the residual, as in the forward pass
  MutableMatrix dx{};  // data null: not wanted
  bool accumulate_dx = false;
  MutableMatrix dresidual{};  // data null: not wanted
  float* dgamma = nullptr;    // null: not wanted
  float* dbeta = nullptr;     // null: not wanted
  bool accumulate_parameters = false;
};
void norm_backward(const NormBackward& problem);

}  // namespace weft::kernels
