#pragma once

#include <cmath>
#include <cstdint>

#include "weft/kernels/norm.h"
#include "weft/kernels/portable/elementwise.h"

// What weft/kernels/norm.h computes, on dense (rows, cols) arrays: the oracle, also in double.
namespace weft::kernels::portable {

// As kernels::NormForward; null pointers mean what absent matrices mean there, but y, mean and rstd are always written.
template <typename T>
struct NormForward {
  NormKind kind = NormKind::layer_norm;
  T epsilon = T(1e-5);
  int64_t rows = 0;
  int64_t cols = 0;
  const T* x = nullptr;
  const T* residual = nullptr;
  Dropout dropout = {};
  const T* gamma = nullptr;
  const T* beta = nullptr;
  T* sum = nullptr;  // (rows, cols), always written
  T* y = nullptr;
  T* mean = nullptr;
  T* rstd = nullptr;
};

template <typename T>
void norm_forward(const NormForward<T>& p) {
  for (int64_t r = 0; r < p.rows; ++r) {
    T* s = p.sum + r * p.cols;
    T mean = 0, variance = 0;
    for (int64_t c = 0; c < p.cols; ++c) {
      const int64_t i = r * p.cols + c;
      s[c] = p.x[i];
      if (p.residual) s[c] += dropout_factor<T>(p.dropout, static_cast<uint64_t>(i)) * p.residual[i];
      mean += s[c] / T(p.cols);
    }
    if (p.kind == NormKind::rms_norm) mean = 0;
    for (int64_t c = 0; c < p.cols; ++c) variance += (s[c] - mean) * (s[c] - mean) / T(p.cols);
    const T rstd = T(1) / std::sqrt(variance + p.epsilon);
    for (int64_t c = 0; c < p.cols; ++c) {
      p.y[r * p.cols + c] = (s[c] - mean) * rstd * p.gamma[c] + (p.beta ? p.beta[c] : T(0));
    }
    p.mean[r] = mean;
    p.rstd[r] = rstd;
  }
}

// As kernels::NormBackward. All outputs are added to what they hold; any may be null.
template <typename T>
struct NormBackward {
  NormKind kind = NormKind::layer_norm;
  int64_t rows = 0;
  int64_t cols = 0;
  const T* s = nullptr;
  const T* dy = nullptr;
  const T* dsum = nullptr;
  const T* mean = nullptr;
  const T* rstd = nullptr;
  const T* gamma = nullptr;
  Dropout dropout = {};
  T* dx = nullptr;
  T* dresidual = nullptr;
  T* dgamma = nullptr;
  T* dbeta = nullptr;
};

template <typename T>
void norm_backward(const NormBackward<T>& p) {
  for (int64_t r = 0; r < p.rows; ++r) {
    const T mean = p.kind == NormKind::rms_norm ? T(0) : p.mean[r], rstd = p.rstd[r];
    const int64_t row = r * p.cols;
    const auto normalised = [&](int64_t c) { return (p.s[row + c] - mean) * rstd; };
    T g_mean = 0, projection = 0;
    for (int64_t c = 0; c < p.cols; ++c) {
      const T g = p.dy[row + c] * p.gamma[c];
      g_mean += g / T(p.cols);
      projection += g * normalised(c) / T(p.cols);
      if (p.dgamma) p.dgamma[c] += p.dy[row + c] * normalised(c);
      if (p.dbeta) p.dbeta[c] += p.dy[row + c];
    }
    if (p.kind == NormKind::rms_norm) g_mean = 0;
    for (int64_t c = 0; c < p.cols; ++c) {
      T ds = rstd * (p.dy[row + c] * p.gamma[c] - g_mean - normalised(c) * projection);
      if (p.dsum) ds += p.dsum[row + c];
      if (p.dx) p.dx[row + c] += ds;
      if (p.dresidual) p.dresidual[row + c] += dropout_factor<T>(p.dropout, static_cast<uint64_t>(row + c)) * ds;
    }
  }
}

}  // namespace weft::kernels::portable
