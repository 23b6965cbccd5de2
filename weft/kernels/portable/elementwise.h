#pragma once

#include <cmath>
#include <cstdint>

#include "weft/kernels/dropout.h"

// What weft/kernels/elementwise.h computes, element by element on dense arrays: the oracle, also in double.
namespace weft::kernels::portable {

// What dropout multiplies element number `element` by: 0 or 1/(1 − p).
template <typename T>
T dropout_factor(const Dropout& dropout, uint64_t element) {
  if (dropout.probability == 0.0f) return T(1);
  const bool kept = dropout.rng.bits(element) < keep_threshold(dropout.probability);
  return kept ? T(1) / (T(1) - T(dropout.probability)) : T(0);
}

// sum = x + dropout(y)
template <typename T>
void add_dropout(int64_t count, const T* x, const T* y, const Dropout& dropout, T* sum) {
  for (int64_t i = 0; i < count; ++i) sum[i] = x[i] + dropout_factor<T>(dropout, static_cast<uint64_t>(i)) * y[i];
}

// y = dropout(x)
template <typename T>
void apply_dropout(int64_t count, const T* x, const Dropout& dropout, T* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = dropout_factor<T>(dropout, static_cast<uint64_t>(i)) * x[i];
}

// y += scale · x
template <typename T>
void accumulate(int64_t count, const T* x, T* y, T scale) {
  for (int64_t i = 0; i < count; ++i) y[i] += scale * x[i];
}

// out[c] (+)= Σ_r x(r, c)
template <typename T>
void column_sums(int64_t rows, int64_t cols, const T* x, T* out, bool accumulate) {
  for (int64_t c = 0; c < cols; ++c) {
    T sum = accumulate ? out[c] : T(0);
    for (int64_t r = 0; r < rows; ++r) sum += x[r * cols + c];
    out[c] = sum;
  }
}

// Σ x²
template <typename T>
T sum_of_squares(const T* x, int64_t count) {
  T sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += x[i] * x[i];
  return sum;
}

// Index of the first element that is NaN or infinite, or −1.
template <typename T>
int64_t first_non_finite(const T* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i])) return i;
  }
  return -1;
}

}  // namespace weft::kernels::portable
