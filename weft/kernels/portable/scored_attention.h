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

// target += Σ factors[r] · rows[r], four rows at a time: the sums stay in registers longer.
template <typename T>
void add_rows(const std::vector<T>& factors, const std::vector<const T*>& rows, int64_t n, T* target) {
  size_t r = 0;
  for (; r + 4 <= rows.size(); r += 4) {
    const T a = factors[r], b = factors[r + 1], c = factors[r + 2], d = factors[r + 3];
    const T *from_a = rows[r], *from_b = rows[r + 1], *from_c = rows[r + 2], *from_d = rows[r + 3];
    for (int64_t i = 0; i < n; ++i) target[i] += (a * from_a[i] + b * from_b[i]) + (c * from_c[i] + d * from_d[i]);
  }
  for (; r < rows.size(); ++r) add_scaled(factors[r], rows[r], n, target);
}

// Rows and their factors, gathered for add_rows().
template <typename T>
struct WeightedRows {
  std::vector<T> factors;
  std::vector<const T*> rows;

  void clear() {
    factors.clear();
    rows.clear();
  }
  void push(T factor, const T* row) {
    factors.push_back(factor);
    rows.push_back(row);
  }
  void add_to(int64_t n, T* target) const { add_rows(factors, rows, n, target); }
};

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

// rows (n, e) as (e, n).
template <typename T>
void transpose(const T* rows, int64_t n, int64_t e, T* transposed) {
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t c = 0; c < e; ++c) transposed[c * n + j] = rows[j * e + c];
  }
}

// Queries [begin, end) of one head: q (end − begin, e), k (k_length, e) and v (k_length, value_dim), and both
// transposed.
template <typename T>
struct ScoredHead {
  AttentionHead head;
  int64_t begin = 0;
  int64_t end = 0;
  WeightRule rule = WeightRule::softmax;
  Terms<T> terms{};
  AdditiveMask additive{};
  const T *q = nullptr, *k = nullptr, *k_transposed = nullptr, *v = nullptr,
          *v_transposed = nullptr;  // the last for backward alone

  int64_t queries() const { return end - begin; }
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

// soft (queries, k): the softmax of the scores, zero rows where nothing may be attended to; weights (queries, k): what
// the rule makes of it.
template <typename T>
void scored_weights(const ScoredHead<T>& call, T* soft, T* weights) {
  const int64_t n = call.k_length(), e = call.e();
  const auto scale = static_cast<T>(call.head.problem.scale);
  std::vector<T> relative(static_cast<size_t>(call.terms.relative_rows()));
  WeightedRows<T> products;
  for (int64_t row = 0; row < call.queries(); ++row) {
    const T* query = call.q + row * e;
    T* scores = soft + row * n;
    std::fill_n(scores, n, T(0));
    products.clear();
    for (int64_t c = 0; c < e; ++c) products.push(scale * query[c], call.k_transposed + c * n);
    products.add_to(n, scores);
    if (call.terms.relative_keys != nullptr) {
      for (int64_t r = 0; r < call.terms.relative_rows(); ++r) {
        relative[static_cast<size_t>(r)] = scale * dot(query, call.terms.relative_keys + r * e, e);
      }
    }
    const int64_t best = complete_scores(call, call.begin + row, relative.data(), scores);
    const T largest = best >= 0 ? scores[best] : T(0);
    T total = 0;
    for (int64_t j = 0; j < n; ++j) {
      scores[j] = best >= 0 ? std::exp(scores[j] - largest) : T(0);
      total += scores[j];
    }
    for (int64_t j = 0; j < n && best >= 0; ++j) scores[j] /= total;
    if (call.rule == WeightRule::softmax) {
      std::copy_n(scores, n, weights + row * n);
    } else {
      std::fill_n(weights + row * n, n, T(0));
      if (best >= 0) weights[row * n + best] = T(1);
    }
  }
}

// output (queries, value_dim); `weights` before dropout.
template <typename T>
void scored_output(const ScoredHead<T>& call, const T* weights, T* output) {
  const int64_t n = call.k_length(), e = call.value_dim();
  WeightedRows<T> values;
  for (int64_t row = 0; row < call.queries(); ++row) {
    const int64_t i = call.begin + row;
    T* sum = output + row * e;
    std::fill_n(sum, e, T(0));
    values.clear();
    for (int64_t j = 0; j < n; ++j) {
      const T weight = weights[row * n + j] * call.head.template dropout_factor<T>(i, j);
      if (weight == T(0)) continue;
      values.push(weight, call.v + j * e);
      if (call.terms.relative_values != nullptr) {
        values.push(weight, call.terms.relative_values + call.terms.relative_row(call.distance(i, j)) * e);
      }
    }
    values.add_to(e, sum);
  }
}

// Adds to dq (queries, e), dk (k, e), dv (k, value_dim) and the tables' gradients. soft and weights as scored_weights()
// gives them.
template <typename T>
void scored_head_backward(const ScoredHead<T>& call, const T* soft, const T* weights, const T* d_output, T* dq, T* dk,
                          T* dv, const TermGradients<T>& tables) {
  const int64_t n = call.k_length(), e = call.e(), value_dim = call.value_dim(), heads = call.head.problem.heads;
  const auto scale = static_cast<T>(call.head.problem.scale);
  std::vector<T> d_weights(static_cast<size_t>(n));
  WeightedRows<T> gathered;
  for (int64_t query = 0; query < call.queries(); ++query) {
    const int64_t i = call.begin + query;
    const T* q = call.q + query * e;
    const T* p = soft + query * n;
    const T* dy = d_output + query * value_dim;
    gathered.clear();
    for (int64_t c = 0; c < value_dim; ++c) gathered.push(dy[c], call.v_transposed + c * n);
    std::fill(d_weights.begin(), d_weights.end(), T(0));
    gathered.add_to(n, d_weights.data());
    T mean = 0;
    for (int64_t j = 0; j < n; ++j) {
      const T factor = call.head.template dropout_factor<T>(i, j);
      const int64_t row = call.terms.relative_row(call.distance(i, j)) * value_dim;
      T& d_weight = d_weights[static_cast<size_t>(j)];
      if (call.terms.relative_values != nullptr) d_weight += dot(dy, call.terms.relative_values + row, value_dim);
      d_weight *= factor;
      mean += d_weight * p[j];
      const T weight = weights[query * n + j] * factor;
      if (weight == T(0)) continue;
      add_scaled(weight, dy, value_dim, dv + j * value_dim);
      if (tables.relative_values != nullptr) add_scaled(weight, dy, value_dim, tables.relative_values + row);
    }
    gathered.clear();
    for (int64_t j = 0; j < n; ++j) {
      const T d_score = p[j] * (d_weights[static_cast<size_t>(j)] - mean);
      if (d_score == T(0)) continue;
      gathered.push(scale * d_score, call.k + j * e);
      const int64_t distance = call.distance(i, j);
      const int64_t row = call.terms.relative_row(distance) * e;
      add_scaled(scale * d_score, q, e, dk + j * e);
      if (call.terms.relative_keys != nullptr) gathered.push(scale * d_score, call.terms.relative_keys + row);
      if (tables.relative_keys != nullptr) add_scaled(scale * d_score, q, e, tables.relative_keys + row);
      if (tables.bucket_bias != nullptr) {
        tables.bucket_bias[call.terms.bucket(distance) * heads + call.head.head] += d_score;
      }
    }
    gathered.add_to(e, dq + query * e);
  }
}

}  // namespace weft::kernels::portable
