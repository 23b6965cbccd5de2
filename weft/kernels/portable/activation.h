#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "weft/kernels/activation.h"

namespace weft::kernels::portable {

// The formulas of weft/kernels/activation.h one element at a time, for T = float or double.
template <typename T>
T sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

// 2·√(2/π)·(x + 0.044715 x³): gelu_tanh is x·sigmoid of it, as (1 + tanh u)/2 = sigmoid(2u).
template <typename T>
T gelu_tanh_argument(T x) {
  const T slope = T(2) * std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
  return slope * (x + T(0.044715) * x * x * x);
}

template <typename T>
T activate(Activation activation, T x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x < T(0) ? T(0) : x;
    case Activation::gelu:
      return x * T(0.5) * std::erfc(-x / std::numbers::sqrt2_v<T>);
    case Activation::gelu_tanh:
      return x * sigmoid(gelu_tanh_argument(x));
    case Activation::silu:
      return x * sigmoid(x);
    case Activation::tanh:
      return std::tanh(x);
  }
  return x;
}

template <typename T>
T activation_slope(Activation activation, T x) {
  switch (activation) {
    case Activation::none:
      return T(1);
    case Activation::relu:
      return x <= T(0) ? T(0) : T(1);
    case Activation::gelu: {
      const T density = std::exp(-x * x / T(2)) * std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
      return T(0.5) * std::erfc(-x / std::numbers::sqrt2_v<T>) + x * density;
    }
    case Activation::gelu_tanh: {
      const T s = sigmoid(gelu_tanh_argument(x));
      const T slope = T(2) * std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
      return s + x * s * (T(1) - s) * slope * (T(1) + T(3) * T(0.044715) * x * x);
    }
    case Activation::silu: {
      const T s = sigmoid(x);
      return s + x * s * (T(1) - s);
    }
    case Activation::tanh: {
      const T t = std::tanh(x);
      return T(1) - t * t;
    }
  }
  return T(1);
}

// x (rows, 2·cols) = [gate | up] and y (rows, cols), dense.
template <typename T>
void gated_forward(Activation activation, const T* x, int64_t rows, int64_t cols, T* y) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      y[r * cols + c] = activate(activation, x[2 * r * cols + c]) * x[(2 * r + 1) * cols + c];
    }
  }
}

template <typename T>
void gated_backward(Activation activation, const T* x, const T* dy, int64_t rows, int64_t cols, T* dx) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      const T gate = x[2 * r * cols + c], up = x[(2 * r + 1) * cols + c], d = dy[r * cols + c];
      dx[2 * r * cols + c] = d * up * activation_slope(activation, gate);
      dx[(2 * r + 1) * cols + c] = d * activate(activation, gate);
    }
  }
}

}  // namespace weft::kernels::portable
