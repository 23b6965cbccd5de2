#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "weft/kernels/linear_attention.h"
#include "weft/kernels/portable/attention.h"

// Linear attention by its recurrence (Katharopoulos et al. 2020, algorithm 1), one token after the other: the oracle of
// the chunked kernels. T is the type of the arithmetic, Storage that of the arrays.
namespace weft::kernels::portable {

// φ = elu + 1
template <typename T>
T linear_feature(T x) {
  return x > T(0) ? x + T(1) : std::exp(x);
}

// φ' as a function of φ: e^x below 0, 1 above.
template <typename T>
T linear_feature_slope(T feature) {
  return std::min(feature, T(1));
}

template <typename T, typename Storage>
std::vector<T> linear_features(const Storage* row, int64_t head_dim) {
  std::vector<T> features(static_cast<size_t>(head_dim));
  for (size_t c = 0; c < features.size(); ++c) features[c] = linear_feature(static_cast<T>(row[c]));
  return features;
}

// How many of a segment's keys query i sees; all numbers from 0 to k_length occur in order.
inline int64_t linear_visible_keys(const AttentionProblem& problem, const AttentionSegment& segment, int64_t i) {
  if (!problem.causal) return segment.k_length;
  return std::clamp<int64_t>(i + 1 + segment.k_length - segment.q_length, 0, segment.k_length);
}

template <typename T, typename Storage>
struct LinearAttentionForward {
  AttentionProblem problem;
  Heads<const Storage> q, k, v;
  Heads<Storage> output;
  std::span<T* const> states{};  // as kernels::LinearAttention
  T* denominators = nullptr;
  int64_t denominator_stride = 0;
};

// S (head_dim, value_dim) and z (head_dim) += φ(k) vᵀ and φ(k).
template <typename T, typename Storage>
void linear_add_key(const Storage* key, const Storage* value, int64_t head_dim, int64_t value_dim, T* state) {
  const std::vector<T> features = linear_features<T>(key, head_dim);
  for (int64_t c = 0; c < head_dim; ++c) {
    const T feature = features[static_cast<size_t>(c)];
    for (int64_t e = 0; e < value_dim; ++e) state[c * value_dim + e] += feature * static_cast<T>(value[e]);
    state[head_dim * value_dim + c] += feature;
  }
}

// output (value_dim) of one query; returns the denominator.
template <typename T, typename Storage>
T linear_read(const Storage* query, const T* state, int64_t head_dim, int64_t value_dim, Storage* output) {
  const std::vector<T> features = linear_features<T>(query, head_dim);
  std::vector<T> sum(static_cast<size_t>(value_dim));
  T total = 0;
  for (int64_t c = 0; c < head_dim; ++c) {
    const T feature = features[static_cast<size_t>(c)];
    total += feature * state[head_dim * value_dim + c];
    for (int64_t e = 0; e < value_dim; ++e) sum[static_cast<size_t>(e)] += feature * state[c * value_dim + e];
  }
  for (int64_t e = 0; e < value_dim; ++e) {
    output[e] = static_cast<Storage>(total == T(0) ? T(0) : sum[static_cast<size_t>(e)] / total);
  }
  return total;
}

// One key/value head of one segment, and the query heads that read it.
template <typename T, typename Storage>
void linear_attention_head_forward(const LinearAttentionForward<T, Storage>& call, size_t segment_index,
                                   int64_t kv_head) {
  const AttentionProblem& problem = call.problem;
  const AttentionSegment& segment = problem.segments[segment_index];
  const int64_t head_dim = problem.head_dim, value_dim = value_dim_of(problem);
  const int64_t size = head_dim * (value_dim + 1), group = problem.heads / problem.kv_heads;
  std::vector<T> state(static_cast<size_t>(size));
  if (!call.states.empty()) std::copy_n(call.states[segment_index] + kv_head * size, size, state.begin());
  int64_t seen = 0;
  const auto see = [&](int64_t count) {
    for (; seen < count; ++seen) {
      linear_add_key(call.k.row(segment.k_begin + seen, kv_head), call.v.row(segment.k_begin + seen, kv_head), head_dim,
                     value_dim, state.data());
    }
  };
  for (int64_t i = 0; i < segment.q_length; ++i) {
    see(linear_visible_keys(problem, segment, i));
    for (int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
      const int64_t row = segment.q_begin + i;
      const T total = linear_read(call.q.row(row, h), state.data(), head_dim, value_dim, call.output.row(row, h));
      if (call.denominators) call.denominators[h * call.denominator_stride + row] = total;
    }
  }
  see(segment.k_length);
  if (!call.states.empty()) std::copy(state.begin(), state.end(), call.states[segment_index] + kv_head * size);
}

template <typename T, typename Storage>
void linear_attention_forward(const LinearAttentionForward<T, Storage>& call) {
  for (size_t s = 0; s < call.problem.segments.size(); ++s) {
    for (int64_t h = 0; h < call.problem.kv_heads; ++h) linear_attention_head_forward(call, s, h);
  }
}

// weights (k_length) of query i of a head; zeros where it sees nothing.
template <typename T, typename Storage>
void linear_attention_weights(const AttentionHead& head, const Heads<const Storage>& q, const Heads<const Storage>& k,
                              int64_t i, T* weights) {
  const AttentionSegment& segment = head.segment();
  const int64_t head_dim = head.problem.head_dim;
  const std::vector<T> query = linear_features<T>(q.row(segment.q_begin + i, head.head), head_dim);
  T total = 0;
  for (int64_t j = 0; j < segment.k_length; ++j) {
    const Storage* key = k.row(segment.k_begin + j, head.kv_head());
    T product = 0;
    for (int64_t c = 0; c < head_dim && head.attends(i, j); ++c) {
      product += query[static_cast<size_t>(c)] * linear_feature(static_cast<T>(key[c]));
    }
    weights[j] = product;
    total += product;
  }
  for (int64_t j = 0; j < segment.k_length && total > T(0); ++j) weights[j] /= total;
}

template <typename T, typename Storage = T>
struct LinearAttentionBackward {
  AttentionProblem problem;
  Heads<const Storage> q, k, v, output, d_output;
  const T* denominators = nullptr;
  int64_t denominator_stride = 0;
  Heads<Storage> dq, dk, dv;  // written, rows of no segment excepted
};

// With n = φ(q)·S and D = φ(q)·z, output = n/D: dn = d_output/D and dD = −(d_output·output)/D, zeros where D is 0;
// `both` (value_dim + 1) is dn, then dD.
template <typename T, typename Storage>
std::vector<T> linear_d_quotient(const LinearAttentionBackward<T, Storage>& call, int64_t row, int64_t head) {
  const int64_t value_dim = value_dim_of(call.problem);
  const T total = call.denominators[head * call.denominator_stride + row];
  std::vector<T> both(static_cast<size_t>(value_dim + 1));
  if (total == T(0)) return both;
  const Storage *output = call.output.row(row, head), *d_output = call.d_output.row(row, head);
  for (int64_t e = 0; e < value_dim; ++e) {
    both[static_cast<size_t>(e)] = static_cast<T>(d_output[e]) / total;
    both.back() -= static_cast<T>(output[e]) * both[static_cast<size_t>(e)];
  }
  return both;
}

// dq: dφ(q_i) = S_i dn_i + z_i dD_i, with the sums of the forward pass, made again in order.
template <typename T>
void linear_backward_queries(const LinearAttentionBackward<T>& call, const AttentionSegment& segment, int64_t head) {
  const AttentionProblem& problem = call.problem;
  const int64_t head_dim = problem.head_dim, value_dim = value_dim_of(problem);
  const int64_t kv_head = head / (problem.heads / problem.kv_heads);
  std::vector<T> state(static_cast<size_t>(head_dim * (value_dim + 1)));
  int64_t seen = 0;
  for (int64_t i = 0; i < segment.q_length; ++i) {
    for (; seen < linear_visible_keys(problem, segment, i); ++seen) {
      linear_add_key(call.k.row(segment.k_begin + seen, kv_head), call.v.row(segment.k_begin + seen, kv_head), head_dim,
                     value_dim, state.data());
    }
    const int64_t row = segment.q_begin + i;
    const std::vector<T> both = linear_d_quotient(call, row, head);
    for (int64_t c = 0; c < head_dim; ++c) {
      T sum = both.back() * state[static_cast<size_t>(head_dim * value_dim + c)];
      for (int64_t e = 0; e < value_dim; ++e) {
        sum += both[static_cast<size_t>(e)] * state[static_cast<size_t>(c * value_dim + e)];
      }
      call.dq.row(row, head)[c] = sum * linear_feature_slope(linear_feature(call.q.row(row, head)[c]));
    }
  }
}

// dk and dv: with R_j = Σ φ(q_i) dn_iᵀ and r_j = Σ φ(q_i) dD_i over the queries i that see j, from the last to the
// first, dφ(k_j) = R_j v_j + r_j and dv_j = R_jᵀ φ(k_j).
template <typename T>
void linear_backward_keys(const LinearAttentionBackward<T>& call, const AttentionSegment& segment, int64_t kv_head) {
  const AttentionProblem& problem = call.problem;
  const int64_t head_dim = problem.head_dim, value_dim = value_dim_of(problem);
  const int64_t group = problem.heads / problem.kv_heads;
  std::vector<T> sums(static_cast<size_t>(head_dim * (value_dim + 1)));  // R, with r as its last column
  int64_t next = segment.q_length - 1;
  for (int64_t j = segment.k_length - 1; j >= 0; --j) {
    for (; next >= 0 && linear_visible_keys(problem, segment, next) > j; --next) {
      const int64_t row = segment.q_begin + next;
      for (int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
        const std::vector<T> both = linear_d_quotient(call, row, h);
        const std::vector<T> query = linear_features<T>(call.q.row(row, h), head_dim);
        for (size_t i = 0; i < sums.size(); ++i) sums[i] += query[i / both.size()] * both[i % both.size()];
      }
    }
    const int64_t row = segment.k_begin + j;
    const T* value = call.v.row(row, kv_head);
    const std::vector<T> key = linear_features<T>(call.k.row(row, kv_head), head_dim);
    std::fill_n(call.dv.row(row, kv_head), value_dim, T(0));
    for (int64_t c = 0; c < head_dim; ++c) {
      const T* sum = &sums[static_cast<size_t>(c * (value_dim + 1))];
      const T feature = key[static_cast<size_t>(c)];
      T d_feature = sum[value_dim];
      for (int64_t e = 0; e < value_dim; ++e) {
        d_feature += sum[e] * value[e];
        call.dv.row(row, kv_head)[e] += sum[e] * feature;
      }
      call.dk.row(row, kv_head)[c] = d_feature * linear_feature_slope(feature);
    }
  }
}

template <typename T>
void linear_attention_backward(const LinearAttentionBackward<T>& call) {
  for (const AttentionSegment& segment : call.problem.segments) {
    for (int64_t h = 0; h < call.problem.heads; ++h) linear_backward_queries(call, segment, h);
    for (int64_t h = 0; h < call.problem.kv_heads; ++h) linear_backward_keys(call, segment, h);
  }
}

}  // namespace weft::kernels::portable
