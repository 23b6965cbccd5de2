#pragma once

#include <cstdint>

#include "weft/kernels/activation.h"
#include "weft/kernels/matmul.h"
#include "weft/kernels/portable/activation.h"

// What weft/kernels/matmul.h computes, on dense arrays: the oracle, also in double.
namespace weft::kernels::portable {

template <typename T>
struct MatmulEpilogue {
  const T* bias = nullptr;  // (n)
  Activation activation = Activation::none;
  const T* residual = nullptr;  // (m, n)
  bool accumulate = false;
};

struct MatmulSizes {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// c (m, n) = op(a) · op(b), then the epilogue; a stored (m, k) or (k, m), b stored (k, n) or (n, k).
template <typename T>
void matmul(const MatmulSizes& sizes, const T* a, Transpose transpose_a, const T* b, Transpose transpose_b, T* c,
            const MatmulEpilogue<T>& epilogue = {}) {
  const auto [m, n, k] = sizes;
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t col = 0; col < n; ++col) {
      T sum = 0;
      for (int64_t i = 0; i < k; ++i) {
        const T left = transpose_a == Transpose::yes ? a[i * m + row] : a[row * k + i];
        const T right = transpose_b == Transpose::yes ? b[col * k + i] : b[i * n + col];
        sum += left * right;
      }
      if (epilogue.bias != nullptr) sum += epilogue.bias[col];
      sum = activate(epilogue.activation, sum);
      if (epilogue.residual != nullptr) sum += epilogue.residual[row * n + col];
      T& place = c[row * n + col];
      place = epilogue.accumulate ? place + sum : sum;
    }
  }
}

}  // namespace weft::kernels::portable
