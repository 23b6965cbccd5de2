#pragma once

#include "weft/autograd/context.h"
#include "weft/kernels/activation.h"

namespace weft::ops {

// y = activation(x), elementwise; y has the shape and element type of x.
Variable activation(Context& ctx, const Variable& x, kernels::Activation activation);

// Gated linear units (Shazeer 2020): x (…, 2f) holds [gate | up]; y = activation(gate) · up, (…, f). SwiGLU with silu,
// GeGLU with gelu.
Variable gated_activation(Context& ctx, const Variable& x, kernels::Activation activation);

}  // namespace weft::ops
