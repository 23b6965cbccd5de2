#include "weft/ops/activation.h"

#include "weft/base/error.h"
#include "weft/kernels/elementwise.h"

namespace weft::ops {

namespace {

using Backward = void (*)(kernels::Activation, kernels::ConstMatrix, kernels::ConstMatrix, kernels::MutableMatrix);

// Both forms: a backward kernel from (x, dy) to dx, added to what is there if need be.
SingleBackward backward_of(Backward kernel, kernels::Activation activation, const Variable& x) {
  return [kernel, activation, input = x.value(), edge = x.edge()](BackwardPass& pass, const Tensor& dy) {
    Tensor dx = Tensor::empty(input.shape(), input.dtype());
    kernel(activation, matrix_view(input), matrix_view(dy), matrix_view(dx));
    pass.add(edge, dx);
  };
}

}  // namespace

Variable activation(Context& ctx, const Variable& x, kernels::Activation activation) {
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  kernels::activation_forward(activation, matrix_view(x.value()), matrix_view(y));
  return record(ctx, "activation", {&x}, std::move(y), backward_of(kernels::activation_backward, activation, x));
}

Variable gated_activation(Context& ctx, const Variable& x, kernels::Activation activation) {
  require(x.value().rank() >= 1 && x.dim(-1) % 2 == 0,
          "gated_activation: the last dimension is [gate | up], even; got {}", x.shape());
  Tensor y = Tensor::empty(x.shape().with_last(x.dim(-1) / 2), x.dtype());
  kernels::gated_forward(activation, matrix_view(x.value()), matrix_view(y));
  return record(ctx, "gated_activation", {&x}, std::move(y), backward_of(kernels::gated_backward, activation, x));
}

}  // namespace weft::ops
