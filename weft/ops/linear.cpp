#include "weft/ops/linear.h"

#include "weft/base/error.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/matmul.h"

namespace weft::ops {

namespace {

using kernels::Activation;
using kernels::MatmulEpilogue;
using kernels::Transpose;

// c = a · Wᵀ (forward) or a · W (backward), through the packed copy where the weight is a parameter.
void multiply(const Tensor& a, const Variable& weight, WeightUse use, Tensor& c, const MatmulEpilogue& epilogue) {
  if (weight.parameter() != nullptr) {
    kernels::matmul(matrix_view(a), weight.parameter()->packed(use, a.dtype()), matrix_view(c), epilogue);
    return;
  }
  const Tensor values = weight.value().to(a.dtype());
  const Transpose transpose = use == WeightUse::forward ? Transpose::yes : Transpose::no;
  kernels::matmul(matrix_view(a), Transpose::no, matrix_view(values), transpose, matrix_view(c), epilogue);
}

void check(const Variable& x, const Variable& weight, const Variable& bias) {
  require(weight.defined() && weight.value().rank() == 2, "linear: the weight is a matrix (out, in)");
  require(x.defined() && x.value().rank() >= 1 && x.dim(-1) == weight.dim(1),
          "linear: the weight {} takes inputs (…, {}), got {}", weight.shape(), weight.dim(1),
          x.defined() ? x.shape() : Shape{});
  require(!bias.defined() || bias.shape() == Shape{weight.dim(0)}, "linear: the bias has shape ({}), got {}",
          weight.dim(0), bias.defined() ? bias.shape() : Shape{});
}

// What backward needs, by value: the tape outlives the call.
struct Saved {
  Tensor input;  // x in the compute type
  GradientEdge x;
  Shape x_shape;
  DType x_dtype;
  Variable weight;
  GradientEdge bias;
  Shape bias_shape;
};

// d is the gradient of x · Wᵀ + bias, after the activation has been undone.
void linear_backward(BackwardPass& pass, const Saved& saved, const Tensor& d) {
  const DType dtype = saved.input.dtype();
  Tensor converted;
  if (d.dtype() != dtype) converted = Tensor::empty(d.shape(), dtype);
  if (saved.bias.wanted()) {
    GradientTarget bias = pass.target(saved.bias, saved.bias_shape, DType::f32);
    kernels::MutableMatrix copy;
    if (converted.defined()) copy = matrix_view(converted);
    kernels::column_sums(matrix_view(d), bias.tensor.data<float>(), bias.accumulate,
                         converted.defined() ? &copy : nullptr);
  } else if (converted.defined()) {
    kernels::convert(matrix_view(d), matrix_view(converted));
  }
  const Tensor& gradient = converted.defined() ? converted : d;
  if (saved.weight.edge().wanted()) {
    GradientTarget weight = pass.target(saved.weight.edge(), saved.weight.shape(), DType::f32);
    kernels::matmul(matrix_view(gradient), Transpose::yes, matrix_view(saved.input), Transpose::no,
                    matrix_view(weight.tensor), {.accumulate = weight.accumulate});
  }
  if (saved.x.wanted()) {
    GradientTarget x = pass.target(saved.x, saved.x_shape, saved.x_dtype);
    multiply(gradient, saved.weight, WeightUse::backward, x.tensor, {.accumulate = x.accumulate});
  }
}

}  // namespace

Variable linear(Context& ctx, const Variable& x, const Variable& weight, const Variable& bias, Activation activation) {
  check(x, weight, bias);
  const Tensor input = x.value().to(ctx.compute_dtype());
  Tensor output = Tensor::empty(x.shape().with_last(weight.dim(0)), input.dtype());
  MatmulEpilogue epilogue;
  if (bias.defined()) epilogue.bias = bias.value().data<float>();

  const bool recorded = is_recorded(ctx, {&x, &weight, &bias});
  // ReLU's derivative can be read off its output; the others need their input, which then has to be stored.
  const bool in_epilogue = !recorded || activation == Activation::none || activation == Activation::relu;
  if (in_epilogue) epilogue.activation = activation;
  multiply(input, weight, WeightUse::forward, output, epilogue);
  Tensor before = output;
  if (!in_epilogue) {
    output = Tensor::empty(before.shape(), before.dtype());
    kernels::activation_forward(activation, matrix_view(before), matrix_view(output));
  }
  if (!recorded) return record(ctx, "linear", {&x, &weight, &bias}, std::move(output), {});

  Saved saved{input, x.edge(), x.shape(), x.dtype(), weight, bias.edge(), bias.defined() ? bias.shape() : Shape{}};
  if (activation == Activation::none) before = Tensor();
  return record(
      ctx, "linear", {&x, &weight, &bias}, std::move(output),
      [saved = std::move(saved), before = std::move(before), activation](BackwardPass& pass, const Tensor& dy) {
        if (activation == Activation::none) return linear_backward(pass, saved, dy);
        Tensor d = Tensor::empty(dy.shape(), dy.dtype());
        kernels::activation_backward(activation, matrix_view(before), matrix_view(dy), matrix_view(d));
        linear_backward(pass, saved, d);
      });
}

}  // namespace weft::ops
