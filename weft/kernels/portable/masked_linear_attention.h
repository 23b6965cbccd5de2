#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weft/kernels/portable/linear_attention.h"

// Linear attention under a boolean mask: what a query sees is then no sum that it shares with others, so every pair of
// query and key is looked at. Same calls and results as the recurrence, one key/value head of one segment at a time.
namespace weft::kernels::portable {

// φ of all keys of a head (k_length, head_dim).
template <typename T, typename Storage>
std::vector<T> linear_key_features(const Heads<const Storage>& k, const AttentionSegment& segment, int64_t kv_head,
                                   int64_t head_dim) {
  std::vector<T> all;
  all.reserve(static_cast<size_t>(segment.k_length * head_dim));
  for (int64_t j = 0; j < segment.k_length; ++j) {
    const std::vector<T> features = linear_features<T>(k.row(segment.k_begin + j, kv_head), head_dim);
    all.insert(all.end(), features.begin(), features.end());
  }
  return all;
}

// φ(q_i)·φ(k_j) for the keys that query i sees, 0 for the others; returns their sum.
template <typename T>
T linear_products(const AttentionHead& head, int64_t i, const std::vector<T>& query, const std::vector<T>& keys,
                  std::vector<T>& products) {
  T total = 0;
  for (size_t j = 0; j < products.size(); ++j) {
    products[j] = 0;
    if (!head.attends(i, static_cast<int64_t>(j))) continue;
    for (size_t c = 0; c < query.size(); ++c) products[j] += query[c] * keys[j * query.size() + c];
    total += products[j];
  }
  return total;
}

template <typename T, typename Storage>
void masked_linear_attention_forward(const LinearAttentionForward<T, Storage>& call, const LongestLengths& longest,
                                     int64_t segment_index, int64_t kv_head) {
  const AttentionProblem& problem = call.problem;
  const AttentionSegment& segment = problem.segments[static_cast<size_t>(segment_index)];
  const int64_t value_dim = value_dim_of(problem), group = problem.heads / problem.kv_heads;
  const std::vector<T> keys = linear_key_features<T>(call.k, segment, kv_head, problem.head_dim);
  std::vector<T> products(static_cast<size_t>(segment.k_length)), sum(static_cast<size_t>(value_dim));
  for (int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
    const AttentionHead head{problem, longest, segment_index, h};
    for (int64_t i = 0; i < segment.q_length; ++i) {
      const int64_t row = segment.q_begin + i;
      const T total =
          linear_products(head, i, linear_features<T>(call.q.row(row, h), problem.head_dim), keys, products);
      std::fill(sum.begin(), sum.end(), T(0));
      for (int64_t j = 0; j < segment.k_length; ++j) {
        const T product = products[static_cast<size_t>(j)];
        if (product == T(0)) continue;
        const Storage* value = call.v.row(segment.k_begin + j, kv_head);
        for (size_t e = 0; e < sum.size(); ++e) sum[e] += product * static_cast<T>(value[e]);
      }
      Storage* output = call.output.row(row, h);
      for (size_t e = 0; e < sum.size(); ++e) output[e] = static_cast<Storage>(total == T(0) ? T(0) : sum[e] / total);
      if (call.denominators) call.denominators[h * call.denominator_stride + row] = total;
    }
  }
}

// Gradients of one key/value head. With A_ij = φ(q_i)·φ(k_j), D_i their sum over j and dy the output's gradient:
//   dv_j = Σ_i A_ij/D_i dy_i,  dA_ij = (dy_i·v_j − Σ_j A_ij/D_i dy_i·v_j)/D_i,
//   dφ(q_i) = Σ_j dA_ij φ(k_j),  dφ(k_j) = Σ_i dA_ij φ(q_i)
template <typename T, typename Storage>
class MaskedLinearBackward {
 public:
  MaskedLinearBackward(const LinearAttentionBackward<T, Storage>& call, const LongestLengths& longest,
                       int64_t segment_index, int64_t kv_head)
      : call_(call),
        longest_(longest),
        segment_index_(segment_index),
        segment_(call.problem.segments[static_cast<size_t>(segment_index)]),
        kv_head_(kv_head),
        keys_(linear_key_features<T>(call.k, segment_, kv_head, call.problem.head_dim)),
        d_keys_(keys_.size()),
        d_values_(static_cast<size_t>(segment_.k_length * value_dim_of(call.problem))),
        products_(static_cast<size_t>(segment_.k_length)),
        d_weights_(products_.size()) {}

  void run() {
    const int64_t group = call_.problem.heads / call_.problem.kv_heads;
    for (int64_t h = kv_head_ * group; h < (kv_head_ + 1) * group; ++h) {
      for (int64_t i = 0; i < segment_.q_length; ++i) add_query(i, h);
    }
    const int64_t head_dim = call_.problem.head_dim, value_dim = value_dim_of(call_.problem);
    for (int64_t j = 0; j < segment_.k_length; ++j) {
      Storage* dk = call_.dk.row(segment_.k_begin + j, kv_head_);
      Storage* dv = call_.dv.row(segment_.k_begin + j, kv_head_);
      write_features(&keys_[static_cast<size_t>(j * head_dim)], &d_keys_[static_cast<size_t>(j * head_dim)], dk);
      for (int64_t e = 0; e < value_dim; ++e) {
        dv[e] = static_cast<Storage>(d_values_[static_cast<size_t>(j * value_dim + e)]);
      }
    }
  }

 private:
  void add_query(int64_t i, int64_t h) {
    const int64_t row = segment_.q_begin + i;
    const std::vector<T> d_output(call_.d_output.row(row, h), call_.d_output.row(row, h) + value_dim_of(call_.problem));
    const std::vector<T> query = linear_features<T>(call_.q.row(row, h), call_.problem.head_dim);
    const AttentionHead head{call_.problem, longest_, segment_index_, h};
    const T total = linear_products(head, i, query, keys_, products_);
    std::vector<T> d_query(query.size());
    T mean = 0;  // d_output·output, from the values themselves: the output may have been rounded
    for (size_t j = 0; j < products_.size() && total != T(0); ++j) {
      const Storage* value = call_.v.row(segment_.k_begin + static_cast<int64_t>(j), kv_head_);
      d_weights_[j] = 0;
      for (size_t e = 0; e < d_output.size(); ++e) {
        d_weights_[j] += d_output[e] * static_cast<T>(value[e]);
        d_values_[j * d_output.size() + e] += products_[j] / total * d_output[e];
      }
      mean += products_[j] / total * d_weights_[j];
    }
    for (size_t j = 0; j < products_.size() && total != T(0); ++j) {
      if (!head.attends(i, static_cast<int64_t>(j))) continue;
      const T d_product = (d_weights_[j] - mean) / total;
      for (size_t c = 0; c < query.size(); ++c) {
        d_query[c] += d_product * keys_[j * query.size() + c];
        d_keys_[j * query.size() + c] += d_product * query[c];
      }
    }
    write_features(query.data(), d_query.data(), call_.dq.row(row, h));
  }

  void write_features(const T* features, const T* d_features, Storage* target) {
    for (int64_t c = 0; c < call_.problem.head_dim; ++c) {
      target[c] = static_cast<Storage>(d_features[c] * linear_feature_slope(features[c]));
    }
  }

  const LinearAttentionBackward<T, Storage>& call_;
  const LongestLengths& longest_;
  int64_t segment_index_;
  const AttentionSegment& segment_;
  int64_t kv_head_;
  std::vector<T> keys_, d_keys_, d_values_, products_, d_weights_;
};

}  // namespace weft::kernels::portable
