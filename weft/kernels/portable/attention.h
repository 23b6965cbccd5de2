#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "weft/kernels/attention.h"

// Scaled dot-product attention by its formula (Vaswani et al. 2017), one query after the other: the oracle of the fused
// kernels, and the explicit path. T is the type of the arithmetic, Storage that of the arrays.
namespace weft::kernels::portable {

template <typename Storage>
struct Heads {
  Storage* data = nullptr;
  int64_t token_stride = 0;
  int64_t head_stride = 0;

  Storage* row(int64_t token, int64_t head) const { return data + token * token_stride + head * head_stride; }
};

// The longest q_length and k_length: what numbers the elements of weights and dropout.
struct LongestLengths {
  int64_t q = 0;
  int64_t k = 0;
};

inline LongestLengths longest_lengths(const AttentionProblem& problem) {
  LongestLengths longest;
  for (const AttentionSegment& segment : problem.segments) {
    longest.q = std::max(longest.q, segment.q_length);
    longest.k = std::max(longest.k, segment.k_length);
  }
  return longest;
}

inline int64_t value_dim_of(const AttentionProblem& problem) {
  return problem.value_dim > 0 ? problem.value_dim : problem.head_dim;
}

// One head of one segment of a problem.
struct AttentionHead {
  const AttentionProblem& problem;
  LongestLengths longest;
  int64_t segment_index = 0;
  int64_t head = 0;

  const AttentionSegment& segment() const { return problem.segments[static_cast<size_t>(segment_index)]; }
  int64_t kv_head() const { return head / (problem.heads / problem.kv_heads); }

  bool attends(int64_t i, int64_t j) const {
    if (problem.causal && j > i + segment().k_length - segment().q_length) return false;
    return problem.allowed == nullptr ||
           problem.allowed[segment_index * problem.allowed_segment_stride + head * problem.allowed_head_stride +
                           i * problem.allowed_query_stride + j] != 0;
  }

  // Number of the weight of query i and key j.
  int64_t element(int64_t i, int64_t j) const {
    return ((segment_index * problem.heads + head) * longest.q + i) * longest.k + j;
  }

  template <typename T>
  T dropout_factor(int64_t i, int64_t j) const {
    const Dropout& dropout = problem.dropout;
    if (dropout.probability == 0.0f) return T(1);
    const bool keep = dropout.rng.bits(static_cast<uint64_t>(element(i, j))) < keep_threshold(dropout.probability);
    return keep ? T(1) / (T(1) - static_cast<T>(dropout.probability)) : T(0);
  }
};

// weights (k_length) of query i: the softmax, before dropout. Returns the logarithm of its denominator.
template <typename T, typename Storage>
T attention_weights(const AttentionHead& head, const Heads<const Storage>& q, const Heads<const Storage>& k, int64_t i,
                    T* weights) {
  const AttentionSegment& segment = head.segment();
  const Storage* query = q.row(segment.q_begin + i, head.head);
  T largest = -std::numeric_limits<T>::infinity();
  for (int64_t j = 0; j < segment.k_length; ++j) {
    const Storage* key = k.row(segment.k_begin + j, head.kv_head());
    T sum = 0;
    for (int64_t c = 0; c < head.problem.head_dim; ++c) sum += static_cast<T>(query[c]) * static_cast<T>(key[c]);
    weights[j] = head.attends(i, j) ? static_cast<T>(head.problem.scale) * sum : -std::numeric_limits<T>::infinity();
    largest = std::max(largest, weights[j]);
  }
  if (largest == -std::numeric_limits<T>::infinity()) {
    std::fill_n(weights, segment.k_length, T(0));
    return largest;
  }
  T total = 0;
  for (int64_t j = 0; j < segment.k_length; ++j) total += weights[j] = std::exp(weights[j] - largest);
  for (int64_t j = 0; j < segment.k_length; ++j) weights[j] /= total;
  return largest + std::log(total);
}

template <typename T, typename Storage>
struct AttentionForward {
  AttentionProblem problem;
  Heads<const Storage> q, k, v;
  Heads<Storage> output;
  T* log_sum_exp = nullptr;  // as kernels::AttentionForward
  int64_t log_sum_exp_stride = 0;
  T* weights = nullptr;  // (s, h, longest q, longest k), written inside the segments' lengths; null: not kept
};

template <typename T, typename Storage>
void attention_head_forward(const AttentionForward<T, Storage>& call, const AttentionHead& head) {
  const AttentionSegment& segment = head.segment();
  const int64_t value_dim = value_dim_of(call.problem);
  std::vector<T> weights(static_cast<size_t>(segment.k_length));
  std::vector<T> sum(static_cast<size_t>(value_dim));
  for (int64_t i = 0; i < segment.q_length; ++i) {
    const int64_t row = segment.q_begin + i;
    const T log_sum_exp = attention_weights<T>(head, call.q, call.k, i, weights.data());
    if (call.log_sum_exp) call.log_sum_exp[head.head * call.log_sum_exp_stride + row] = log_sum_exp;
    if (call.weights) std::copy(weights.begin(), weights.end(), call.weights + head.element(i, 0));
    std::fill(sum.begin(), sum.end(), T(0));
    for (int64_t j = 0; j < segment.k_length; ++j) {
      const T weight = weights[static_cast<size_t>(j)] * head.template dropout_factor<T>(i, j);
      const Storage* value = call.v.row(segment.k_begin + j, head.kv_head());
      for (int64_t c = 0; c < value_dim; ++c) sum[static_cast<size_t>(c)] += weight * static_cast<T>(value[c]);
    }
    Storage* output = call.output.row(row, head.head);
    for (int64_t c = 0; c < value_dim; ++c) output[c] = static_cast<Storage>(sum[static_cast<size_t>(c)]);
  }
}

template <typename T, typename Storage>
void attention_forward(const AttentionForward<T, Storage>& call) {
  const LongestLengths longest = longest_lengths(call.problem);
  for (int64_t s = 0; s < static_cast<int64_t>(call.problem.segments.size()); ++s) {
    for (int64_t h = 0; h < call.problem.heads; ++h) {
      attention_head_forward(call, AttentionHead{call.problem, longest, s, h});
    }
  }
}

template <typename T>
struct AttentionBackward {
  AttentionProblem problem;
  Heads<const T> q, k, v, d_output;
  Heads<T> dq, dk, dv;  // written, rows of no segment excepted
};

// Adds the gradients of one query head to dq, dk and dv. With P the weights, M the dropout factors, O the output:
//   dV = (P∘M)ᵀ dO,  dP = (dO Vᵀ)∘M,  dS = P∘(dP − rowsum(P∘dP)),  dQ = scale·dS K,  dK = scale·dSᵀ Q
template <typename T>
void attention_head_backward(const AttentionBackward<T>& call, const AttentionHead& head) {
  const AttentionSegment& segment = head.segment();
  const int64_t head_dim = call.problem.head_dim, value_dim = value_dim_of(call.problem);
  const T scale = static_cast<T>(call.problem.scale);
  std::vector<T> weights(static_cast<size_t>(segment.k_length)), d_weights(weights.size());
  for (int64_t i = 0; i < segment.q_length; ++i) {
    attention_weights<T>(head, call.q, call.k, i, weights.data());
    const T* d_output = call.d_output.row(segment.q_begin + i, head.head);
    T mean = 0;
    for (int64_t j = 0; j < segment.k_length; ++j) {
      const T factor = head.template dropout_factor<T>(i, j);
      const T* value = call.v.row(segment.k_begin + j, head.kv_head());
      T* d_value = call.dv.row(segment.k_begin + j, head.kv_head());
      const T weight = weights[static_cast<size_t>(j)];
      T sum = 0;
      for (int64_t c = 0; c < value_dim; ++c) {
        d_value[c] += weight * factor * d_output[c];
        sum += d_output[c] * value[c];
      }
      d_weights[static_cast<size_t>(j)] = sum * factor;
      mean += weight * sum * factor;
    }
    const T* query = call.q.row(segment.q_begin + i, head.head);
    T* d_query = call.dq.row(segment.q_begin + i, head.head);
    for (int64_t j = 0; j < segment.k_length; ++j) {
      const T d_score = scale * weights[static_cast<size_t>(j)] * (d_weights[static_cast<size_t>(j)] - mean);
      const T* key = call.k.row(segment.k_begin + j, head.kv_head());
      T* d_key = call.dk.row(segment.k_begin + j, head.kv_head());
      for (int64_t c = 0; c < head_dim; ++c) {
        d_query[c] += d_score * key[c];
        d_key[c] += d_score * query[c];
      }
    }
  }
}

template <typename T>
void attention_backward(const AttentionBackward<T>& call) {
  const AttentionProblem& problem = call.problem;
  const LongestLengths longest = longest_lengths(problem);
  for (int64_t s = 0; s < static_cast<int64_t>(problem.segments.size()); ++s) {
    const AttentionSegment& segment = problem.segments[static_cast<size_t>(s)];
    for (int64_t h = 0; h < problem.heads; ++h) {
      for (int64_t i = 0; i < segment.q_length; ++i) {
        std::fill_n(call.dq.row(segment.q_begin + i, h), problem.head_dim, T(0));
      }
    }
    for (int64_t h = 0; h < problem.kv_heads; ++h) {
      for (int64_t j = 0; j < segment.k_length; ++j) {
        std::fill_n(call.dk.row(segment.k_begin + j, h), problem.head_dim, T(0));
        std::fill_n(call.dv.row(segment.k_begin + j, h), value_dim_of(problem), T(0));
      }
    }
    for (int64_t h = 0; h < problem.heads; ++h) attention_head_backward(call, AttentionHead{problem, longest, s, h});
  }
}

}  // namespace weft::kernels::portable
