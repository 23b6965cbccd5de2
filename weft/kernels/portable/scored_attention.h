#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "weft/kernels/portable/attention.h"
#include "weft/kernels/scored_attention.h"

// The formulas of weft/kernels/scored_attention.h for one head of one segment, on dense rows. T is float or double.
// Inner loops run over contiguous memory and add to many sums at once, so that the compiler can vectorise them.
namespace weft::kernels::portable {

// target += factor · row
template <typename T>
void add_scaled(T factor, const T* row, int64_t n, T* target) {
  for (int64_t c = 0; c < n; ++c) target[c] += factor * row[c];
}

template <typename T>
T dot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t c = 0; c < n; ++c) sum += a[c] * b[c];
  return sum;
}

// Tables as T, so that finite differences in double can move them.
template <typename T>
struct Terms {
  const T* relative_keys = nullptr;
  const T* relative_values = nullptr;
  const T* bucket_bias = nullptr;
  DistanceTerms shape{};  // max_distance, slopes and buckets; its tables are not read

  int64_t relative_rows() const { return 2 * shape.max_distance + 1; }
  int64_t relative_row(int64_t distance) const {
    return std::clamp(distance, -shape.max_distance, shape.max_distance) + shape.max_distance;
  }
  int64_t bucket(int64_t distance) const { return shape.bucket_of[static_cast<size_t>(distance + shape.bucket_zero)]; }
};

template <typename T>
struct TermGradients {
  T* relative_keys = nullptr;
  T* relative_values = nullptr;
  T* bucket_bias = nullptr;
};

// One head: q (q_length, e), k (k_length, e), v (k_length, value_dim).
template <typename T>
struct ScoredHead {
  AttentionHead head;
  WeightRule rule = WeightRule::softmax;
  Terms<T> terms{};
  AdditiveMask additive{};
  const T *q = nullptr, *k = nullptr, *v = nullptr;

  int64_t q_length() const { return head.segment().q_length; }
  int64_t k_length() const { return head.segment().k_length; }
  int64_t e() const { return head.problem.head_dim; }
  int64_t value_dim() const { return value_dim_of(head.problem); }
  // What the additive mask adds to the scores of query i; null: nothing.
  const float* added(int64_t i) const {
    if (additive.data == nullptr) return nullptr;
    return additive.data + head.segment_index * additive.segment_stride + head.head * additive.head_stride +
           i * additive.query_stride;
  }
  int64_t distance(int64_t i, int64_t j) const { return j - i - (head.problem.causal ? k_length() - q_length() : 0); }
};

// Adds to the products scores (k) of query i what terms and additive mask say; `relative` (2 · max_distance + 1): the
// query's products with the relative keys. Scores of keys that it may not attend to become −∞. Returns the first of the
// largest, −1 if there is none.
template <typename T>
int64_t complete_scores(const ScoredHead<T>& call, int64_t i, const T* relative, T* scores) {
  constexpr T kNever = -std::numeric_limits<T>::infinity();
  const Terms<T>& terms = call.terms;
  const float* added = call.added(i);
  int64_t best = -1;
  for (int64_t j = 0; j < call.k_length(); ++j) {
    const int64_t distance = call.distance(i, j);
    if (terms.relative_keys != nullptr) scores[j] += relative[terms.relative_row(distance)];
    if (terms.shape.slopes != nullptr) {
      scores[j] -= static_cast<T>(terms.shape.slopes[call.head.head]) * static_cast<T>(std::abs(distance));
    }
    if (terms.bucket_bias != nullptr) {
      scores[j] += terms.bucket_bias[terms.bucket(distance) * call.head.problem.heads + call.head.head];
    }
    if (added != nullptr) scores[j] += static_cast<T>(added[j]);
    if (!call.head.attends(i, j)) scores[j] = kNever;
    if (scores[j] != kNever && (best < 0 || scores[j] > scores[best])) best = j;
  }
  return best;
}

// soft (q, k): the softmax of the scores, zero rows where nothing may be attended to; weights (q, k): what the rule
// makes of it.
template <typename T>
void scored_weights(const ScoredHead<T>& call, T* soft, T* weights) {
  const int64_t n = call.k_length(), e = call.e();
  std::vector<T> transposed(static_cast<size_t>(e * n));
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t c = 0; c < e; ++c) transposed[static_cast<size_t>(c * n + j)] = call.k[j * e + c];
  }
  const auto scale = static_cast<T>(call.head.problem.scale);
  std::vector<T> relative(static_cast<size_t>(call.terms.relative_rows()));
  for (int64_t i = 0; i < call.q_length(); ++i) {
    T* scores = soft + i * n;
    std::fill_n(scores, n, T(0));
    for (int64_t c = 0; c < e; ++c)
      add_scaled(scale * call.q[i * e + c], &transposed[static_cast<size_t>(c * n)], n, scores);
    if (call.terms.relative_keys != nullptr) {
      for (int64_t r = 0; r < call.terms.relative_rows(); ++r) {
        relative[static_cast<size_t>(r)] = scale * dot(call.q + i * e, call.terms.relative_keys + r * e, e);
      }
    }
    const int64_t best = complete_scores(call, i, relative.data(), scores);
    const T largest = best >= 0 ? scores[best] : T(0);
    T total = 0;
    for (int64_t j = 0; j < n; ++j) {
      scores[j] = best >= 0 ? std::exp(scores[j] - largest) : T(0);
      total += scores[j];
    }
    for (int64_t j = 0; j < n && best >= 0; ++j) scores[j] /= total;
    if (call.rule == WeightRule::softmax) {
      std::copy_n(scores, n, weights + i * n);
    } else {
      std::fill_n(weights + i * n, n, T(0));
      if (best >= 0) weights[i * n + best] = T(1);
    }
  }
}

// output (q, value_dim); `weights` before dropout.
template <typename T>
void scored_output(const ScoredHead<T>& call, const T* weights, T* output) {
  const int64_t n = call.k_length(), e = call.value_dim();
  for (int64_t i = 0; i < call.q_length(); ++i) {
    T* sum = output + i * e;
    std::fill_n(sum, e, T(0));
    for (int64_t j = 0; j < n; ++j) {
      const T weight = weights[i * n + j] * call.head.template dropout_factor<T>(i, j);
      if (weight == T(0)) continue;
      add_scaled(weight, call.v + j * e, e, sum);
      if (call.terms.relative_values != nullptr) {
        add_scaled(weight, call.terms.relative_values + call.terms.relative_row(call.distance(i, j)) * e, e, sum);
      }
    }
  }
}

// Adds to dq (q, e), dk (k, e), dv (k, value_dim) and the tables' gradients. soft and weights as scored_weights() gives
// them.
template <typename T>
void scored_head_backward(const ScoredHead<T>& call, const T* soft, const T* weights, const T* d_output, T* dq, T* dk,
                          T* dv, const TermGradients<T>& tables) {
  const int64_t n = call.k_length(), e = call.e(), value_dim = call.value_dim(), heads = call.head.problem.heads;
  const auto scale = static_cast<T>(call.head.problem.scale);
  std::vector<T> d_weights(static_cast<size_t>(n));
  for (int64_t i = 0; i < call.q_length(); ++i) {
    const T* dy = d_output + i * value_dim;
    T mean = 0;
    for (int64_t j = 0; j < n; ++j) {
      const T factor = call.head.template dropout_factor<T>(i, j);
      const int64_t row = call.terms.relative_row(call.distance(i, j)) * value_dim;
      T d_weight = dot(dy, call.v + j * value_dim, value_dim);
      if (call.terms.relative_values != nullptr) d_weight += dot(dy, call.terms.relative_values + row, value_dim);
      d_weights[static_cast<size_t>(j)] = d_weight * factor;
      mean += d_weights[static_cast<size_t>(j)] * soft[i * n + j];
      const T weight = weights[i * n + j] * factor;
      if (weight == T(0)) continue;
      add_scaled(weight, dy, value_dim, dv + j * value_dim);
      if (tables.relative_values != nullptr) add_scaled(weight, dy, value_dim, tables.relative_values + row);
    }
    for (int64_t j = 0; j < n; ++j) {
      const T d_score = soft[i * n + j] * (d_weights[static_cast<size_t>(j)] - mean);
      if (d_score == T(0)) continue;
      const int64_t distance = call.distance(i, j);
      const int64_t row = call.terms.relative_row(distance) * e;
      add_scaled(scale * d_score, call.k + j * e, e, dq + i * e);
      add_scaled(scale * d_score, call.q + i * e, e, dk + j * e);
      if (call.terms.relative_keys != nullptr) {
        add_scaled(scale * d_score, call.terms.relative_keys + row, e, dq + i * e);
      }
      if (tables.relative_keys != nullptr) add_scaled(scale * d_score, call.q + i * e, e, tables.relative_keys + row);
      if (tables.bucket_bias != nullptr) {
        tables.bucket_bias[call.terms.bucket(distance) * heads + call.head.head] += d_score;
      }
    }
  }
}

}  // namespace weft::kernels::portable
