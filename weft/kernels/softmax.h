#pragma once

#include "weft/kernels/view.h"

namespace weft::kernels {

// Row-wise softmax of an f32 or bf16 matrix, computed in f32. −∞ gives weight 0; a row of −∞ alone gives zeros.
void softmax_forward(ConstMatrix x, MutableMatrix y);
// dx = y · (dy − Σ_c dy·y). dx may be dy.
void softmax_backward(ConstMatrix y, ConstMatrix dy, MutableMatrix dx);

}  // namespace weft::kernels
