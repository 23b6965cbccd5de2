#pragma once

#include <string_view>

#include "weft/kernels/view.h"

namespace weft::kernels {

// gelu is the exact form x·Φ(x); gelu_tanh its approximation (Hendrycks and Gimpel 2016); silu is x·sigmoid(x).
enum class Activation { none, relu, gelu, gelu_tanh, silu, tanh };

// Elementwise over (rows, cols) matrices; every argument is f32 or bf16 independently, computed in f32.
//
// y = activation(x)
void activation_forward(Activation activation, ConstMatrix x, MutableMatrix y);
// dx = dy · activation'(x); dx may be dy.
void activation_backward(Activation activation, ConstMatrix x, ConstMatrix dy, MutableMatrix dx);

// Gated forms (Shazeer 2020): the columns of x are [gate | up], each y.cols wide. y = activation(gate) · up
void gated_forward(Activation activation, ConstMatrix x, MutableMatrix y);
// dx = [dy · up · activation'(gate) | dy · activation(gate)]
void gated_backward(Activation activation, ConstMatrix x, ConstMatrix dy, MutableMatrix dx);

}  // namespace weft::kernels
