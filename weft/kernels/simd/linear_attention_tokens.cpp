#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/linear_attention_tokens.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/simd/linear_attention-inl.h"
#include "weft/kernels/simd/linear_attention_task.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

// For a few tokens of each segment, as in decoding: the recurrence itself, S and z being read and written where they
// are. Where a few queries see all keys and nobody wants the sums, each query weighs key after key instead.
template <typename T>
class LinearTokens {
 public:
  LinearTokens(const LinearAttentionForward& call, const linear::Task& task)
      : call_(call),
        task_(task),
        head_dim_(call.attention.problem.head_dim),
        value_dim_(linear::value_dim_of(call.attention.problem)) {
    const int64_t padded = linear::round_up(head_dim_, linear::unit);
    linear::Scratch scratch(2 * padded + head_dim_ * (value_dim_ + 1) + value_dim_, 4);
    query_ = scratch.take(padded);
    key_ = scratch.take(padded);
    own_state_ = scratch.take(head_dim_ * (value_dim_ + 1));
    sum_ = scratch.take(value_dim_);
  }

  void run() {
    for (int64_t index = task_.begin; index < task_.end; ++index) run_head({call_.attention.problem, index});
  }

 private:
  void run_head(const linear::Head& head) {
    if (!call_.attention.problem.causal && call_.attention.states.empty()) return weigh_keys(head);
    const int64_t size = head_dim_ * (value_dim_ + 1);
    float* state = own_state_;
    if (call_.attention.states.empty()) {
      std::fill_n(own_state_, size, 0.0f);
    } else {
      state = call_.attention.states[static_cast<size_t>(head.segment_index)] + head.kv_head * size;
    }
    const AttentionSegment& segment = head.segment;
    for (int64_t j = 0; j < head.prefix; ++j) add_key(segment.k_begin + j, head.kv_head, state);
    for (int64_t i = 0; i < segment.q_length; ++i) {
      const int64_t key = head.prefix + i - head.skipped;
      if (call_.attention.problem.causal && i >= head.skipped) add_key(segment.k_begin + key, head.kv_head, state);
      for (int64_t h = head.first_head; h < head.end_head; ++h) read(segment.q_begin + i, h, state);
    }
  }

  void weigh_keys(const linear::Head& head) {
    for (int64_t i = 0; i < head.segment.q_length; ++i) {
      for (int64_t h = head.first_head; h < head.end_head; ++h) weigh_keys(head, head.segment.q_begin + i, h);
    }
  }

  void weigh_keys(const linear::Head& head, int64_t row, int64_t query_head) {
    const AttentionSegment& segment = head.segment;
    load_features(head_row<T>(call_.attention.q, row, query_head), query_);
    std::fill_n(sum_, value_dim_, 0.0f);
    float total = 0.0f;
    for (int64_t j = 0; j < segment.k_length; ++j) {
      const T* key = head_row<T>(call_.attention.k, segment.k_begin + j, head.kv_head);
      const T* value = head_row<T>(call_.attention.v, segment.k_begin + j, head.kv_head);
      const float weight = sum_lanes(head_dim_, [&](int64_t c, auto part) HWY_ATTR {
        return hn::Mul(load(query_ + c, part), linear_feature(load(key + c, part)));
      });
      total += weight;
      const FloatVec factor = hn::Set(Floats(), weight);
      for_lanes(value_dim_, [&](int64_t e, auto part) HWY_ATTR {
        store(hn::MulAdd(factor, load(value + e, part), load(sum_ + e, part)), sum_ + e, part);
      });
    }
    if (call_.denominators) call_.denominators[query_head * call_.denominator_stride + row] = total;
    T* output = head_row<T>(call_.output, row, query_head);
    const FloatVec inverse = hn::Set(Floats(), total == 0.0f ? 0.0f : 1.0f / total);
    for_lanes(value_dim_,
              [&](int64_t e, auto part) HWY_ATTR { store(hn::Mul(load(sum_ + e, part), inverse), output + e, part); });
  }

  void load_features(const T* row, float* features) {
    for_lanes(head_dim_,
              [&](int64_t c, auto part) HWY_ATTR { store(linear_feature(load(row + c, part)), features + c, part); });
  }

  void add_key(int64_t row, int64_t kv_head, float* state) {
    load_features(head_row<T>(call_.attention.k, row, kv_head), key_);
    const T* value = head_row<T>(call_.attention.v, row, kv_head);
    for (int64_t c = 0; c < head_dim_; ++c) {
      const FloatVec feature = hn::Set(Floats(), key_[c]);
      float* sums = state + c * value_dim_;
      for_lanes(value_dim_, [&](int64_t e, auto part) HWY_ATTR {
        store(hn::MulAdd(feature, load(value + e, part), load(sums + e, part)), sums + e, part);
      });
    }
    float* key_sums = state + head_dim_ * value_dim_;
    for_lanes(head_dim_, [&](int64_t c, auto part) HWY_ATTR {
      store(hn::Add(load(key_sums + c, part), load(key_ + c)), key_sums + c, part);
    });
  }

  void read(int64_t row, int64_t head, const float* state) {
    load_features(head_row<T>(call_.attention.q, row, head), query_);
    const float* key_sums = state + head_dim_ * value_dim_;
    const float total = sum_lanes(head_dim_, [&](int64_t c, auto part) HWY_ATTR {
      return hn::Mul(load(query_ + c, part), load(key_sums + c, part));
    });
    if (call_.denominators) call_.denominators[head * call_.denominator_stride + row] = total;
    const FloatVec inverse = hn::Set(Floats(), total == 0.0f ? 0.0f : 1.0f / total);
    T* output = head_row<T>(call_.output, row, head);
    const int64_t lanes = lane_count();
    int64_t e = 0;
    for (; e + 4 * lanes <= value_dim_; e += 4 * lanes) {
      FloatVec sums[4] = {hn::Zero(Floats()), hn::Zero(Floats()), hn::Zero(Floats()), hn::Zero(Floats())};
      for (int64_t c = 0; c < head_dim_; ++c) {
        const FloatVec feature = hn::Set(Floats(), query_[c]);
#pragma GCC unroll 4
        for (int64_t i = 0; i < 4; ++i) {
          sums[i] = hn::MulAdd(feature, load(state + c * value_dim_ + e + i * lanes), sums[i]);
        }
      }
#pragma GCC unroll 4
      for (int64_t i = 0; i < 4; ++i) store(hn::Mul(sums[i], inverse), output + e + i * lanes);
    }
    for_lanes(value_dim_ - e, [&](int64_t rest, auto part) HWY_ATTR {
      FloatVec sum = hn::Zero(Floats());
      for (int64_t c = 0; c < head_dim_; ++c) {
        sum = hn::MulAdd(hn::Set(Floats(), query_[c]), load(state + c * value_dim_ + e + rest, part), sum);
      }
      store(hn::Mul(sum, inverse), output + e + rest, part);
    });
  }

  const LinearAttentionForward& call_;
  const linear::Task& task_;
  const int64_t head_dim_, value_dim_;
  float* query_;      // φ(q) (head_dim)
  float* key_;        // φ(k) (head_dim)
  float* own_state_;  // S and z of a segment that brings none
  float* sum_;        // (value_dim)
};

void linear_forward_tokens(const LinearAttentionForward& call, const linear::Task& task) {
  with_element(call.output.dtype, [&](auto element) { LinearTokens<decltype(element)>(call, task).run(); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(linear_forward_tokens);

void linear::forward_tokens(const LinearAttentionForward& call, const Task& task) {
  HWY_DYNAMIC_DISPATCH(linear_forward_tokens)(call, task);
}

}  // namespace weft::kernels
#endif
