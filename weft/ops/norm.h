#pragma once

#include "weft/autograd/context.h"
#include "weft/kernels/norm.h"

namespace weft::ops {

struct NormOptions {
  kernels::NormKind kind = kernels::NormKind::layer_norm;
  float epsilon = 1e-5f;
  double dropout = 0.0;       // of the residual, while training
  DType output = DType::f32;  // element type of the normalised values
};

// Layer norm or RMS norm (formulas in kernels/norm.h) over the last dimension of x (…, d); gamma (d), beta (d) or
// undefined.
Variable norm(Context& ctx, const Variable& x, const Variable& gamma, const Variable& beta, const NormOptions& options);

// sum = x + dropout(residual), normalised = norm(sum), in one pass. Same shapes; sum has x's element type.
struct AddNormResult {
  Variable sum;
  Variable normalised;
};
AddNormResult add_norm(Context& ctx, const Variable& x, const Variable& residual, const Variable& gamma,
                       const Variable& beta, const NormOptions& options);

}  // namespace weft::ops
