#pragma once

#include <cmath>
#include <cstdint>

namespace weft::kernels::portable {

// Dense logits (rows, v); the rest as kernels::CrossEntropyRows.
template <typename T>
struct CrossEntropyRows {
  const T* logits = nullptr;
  int64_t rows = 0;
  int64_t v = 0;
  const int32_t* targets = nullptr;
  int32_t ignore_id = -100;
  T label_smoothing = T(0);
};

// log Σ e^x of one row
template <typename T>
T log_sum_exp(const T* x, int64_t v) {
  T max = x[0];
  for (int64_t c = 1; c < v; ++c) max = x[c] > max ? x[c] : max;
  T sum = T(0);
  for (int64_t c = 0; c < v; ++c) sum += std::exp(x[c] - max);
  return max + std::log(sum);
}

// losses (rows) and correct (rows, may be null). A row with NaN is never correct.
template <typename T>
void cross_entropy_forward(const CrossEntropyRows<T>& p, T* losses, uint8_t* correct) {
  for (int64_t r = 0; r < p.rows; ++r) {
    const T* x = p.logits + r * p.v;
    const int32_t target = p.targets[r];
    losses[r] = T(0);
    if (correct) correct[r] = 0;
    if (target == p.ignore_id) continue;
    const T lse = log_sum_exp(x, p.v);
    T mean_loss = T(0);
    for (int64_t c = 0; c < p.v; ++c) mean_loss += (lse - x[c]) / T(p.v);
    losses[r] = p.label_smoothing > T(0)
                    ? (T(1) - p.label_smoothing) * (lse - x[target]) + p.label_smoothing * mean_loss
                    : lse - x[target];
    if (!correct || std::isnan(losses[r])) continue;
    int64_t first_largest = 0;
    for (int64_t c = 1; c < p.v; ++c) first_largest = x[c] > x[first_largest] ? c : first_largest;
    correct[r] = first_largest == target;
  }
}

// d_logits (rows, v), dense.
template <typename T>
void cross_entropy_backward(const CrossEntropyRows<T>& p, T scale, T* d_logits) {
  for (int64_t r = 0; r < p.rows; ++r) {
    const T* x = p.logits + r * p.v;
    T* d = d_logits + r * p.v;
    const bool ignored = p.targets[r] == p.ignore_id;
    const T lse = ignored ? T(0) : log_sum_exp(x, p.v);
    for (int64_t c = 0; c < p.v; ++c) {
      const T wanted = (c == p.targets[r] ? T(1) - p.label_smoothing : T(0)) + p.label_smoothing / T(p.v);
      d[c] = ignored ? T(0) : scale * (std::exp(x[c] - lse) - wanted);
    }
  }
}

}  // namespace weft::kernels::portable
