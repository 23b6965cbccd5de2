#pragma once

#include "weft/autograd/context.h"
#include "weft/kernels/activation.h"

namespace weft::ops {

// y = activation(x · weightᵀ + bias), one product with its epilogue.
//   x (…, in), weight (out, in), bias (out) or undefined → y (…, out) in ctx's compute type.
// In bf16 precision x and weight are rounded to bf16 and multiplied with f32 sums; gradients of weight and bias are
// f32. A weight that is a parameter is read through its packed copy.
Variable linear(Context& ctx, const Variable& x, const Variable& weight, const Variable& bias,
                kernels::Activation activation = kernels::Activation::none);

}  // namespace weft::ops
