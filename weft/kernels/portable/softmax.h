#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

// What weft/kernels/softmax.h computes, on dense (rows, cols) arrays: the oracle, also in double.
namespace weft::kernels::portable {

template <typename T>
void softmax_forward(int64_t rows, int64_t cols, const T* x, T* y) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    T largest = -infinity;
    for (int64_t c = 0; c < cols; ++c) largest = std::fmax(largest, x[c]);
    if (largest == -infinity) largest = 0;  // then every exponential below is 0 (or NaN)
    T sum = 0;
    for (int64_t c = 0; c < cols; ++c) sum += y[c] = std::exp(x[c] - largest);
    for (int64_t c = 0; c < cols; ++c) y[c] = sum == T(0) ? T(0) : y[c] / sum;
  }
}

template <typename T>
void softmax_backward(int64_t rows, int64_t cols, const T* y, const T* dy, T* dx) {
  for (int64_t r = 0; r < rows; ++r, y += cols, dy += cols, dx += cols) {
    T dot = 0;
    for (int64_t c = 0; c < cols; ++c) dot += y[c] * dy[c];
    for (int64_t c = 0; c < cols; ++c) dx[c] = y[c] * (dy[c] - dot);
  }
}

}  // namespace weft::kernels::portable
