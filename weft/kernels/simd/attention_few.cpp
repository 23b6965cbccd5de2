#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/attention_few.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "weft/kernels/simd/attention_kernels.h"
#include "weft/kernels/simd/attention_tile-inl.h"
#include "weft/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

// One query after the other, each reading keys and values once, where they are.
template <typename T>
class FewQueries {
 public:
  FewQueries(const AttentionForward& call, const attention::Task& task)
      : call_(call), task_(task), head_dim_(call.problem.head_dim), value_dim_(attention::value_dim_of(call.problem)) {
    const int64_t lanes = lane_count();
    attention::Scratch scratch(head_dim_ + task.division.max_k + 2 * lanes, 2);
    query_ = scratch.take(attention::round_up(head_dim_, lanes));
    weights_ = scratch.take(attention::round_up(task.division.max_k, lanes));
  }

  void run() {
    for (int64_t index = task_.begin; index < task_.end; ++index) {
      const attention::Item item = task_.division.query_item(index, call_.problem);
      for (int64_t i = item.begin; i < item.end; ++i) run_query(item, i);
    }
  }

 private:
  void run_query(const attention::Item& item, int64_t i) {
    const AttentionProblem& problem = call_.problem;
    const AttentionSegment& segment = problem.segments[static_cast<size_t>(item.segment)];
    const int64_t kv_head = item.head / (problem.heads / problem.kv_heads);
    const int64_t count = attention::visible_keys(problem, segment, i);
    const T* query = head_row<T>(call_.q, segment.q_begin + i, item.head);
    const FloatVec scale = hn::Set(Floats(), problem.scale * log2_of_e);
    for_lanes(head_dim_,
              [&](int64_t c, auto part) HWY_ATTR { store(hn::Mul(load(query + c, part), scale), query_ + c); });
    score(head_row<T>(call_.k, segment.k_begin, kv_head), count);
    if (problem.allowed) mask(item, i, count);
    const float largest = maximum(count);
    const float total = exponentiate(count, largest);
    if (problem.dropout.probability > 0.0f) drop(item, i, count);
    sum_values(head_row<T>(call_.v, segment.k_begin, kv_head), count, total > 0.0f ? 1.0f / total : 0.0f,
               head_row<T>(call_.output, segment.q_begin + i, item.head));
    if (!call_.log_sum_exp) return;
    call_.log_sum_exp[item.head * call_.log_sum_exp_stride + segment.q_begin + i] =
        total == 0.0f ? -std::numeric_limits<float>::infinity() : largest * ln_of_2 + std::log(total);
  }

  void score(const T* keys, int64_t count) {
    const int64_t stride = call_.k.token_stride;
    int64_t j = 0;
    for (; j + 4 <= count; j += 4) {  // four sums at once hide the latency of adding
      const T* key = keys + j * stride;
      FloatVec sums[4] = {hn::Zero(Floats()), hn::Zero(Floats()), hn::Zero(Floats()), hn::Zero(Floats())};
      for_lanes(head_dim_, [&](int64_t c, auto part) HWY_ATTR {
        const FloatVec query = load(query_ + c);
#pragma GCC unroll 4
        for (int64_t r = 0; r < 4; ++r) sums[r] = hn::MulAdd(query, load(key + r * stride + c, part), sums[r]);
      });
#pragma GCC unroll 4
      for (int64_t r = 0; r < 4; ++r) weights_[j + r] = sum_of(sums[r]);
    }
    for (; j < count; ++j) {
      FloatVec sum = hn::Zero(Floats());
      for_lanes(head_dim_, [&](int64_t c, auto part) HWY_ATTR {
        sum = hn::MulAdd(load(query_ + c), load(keys + j * stride + c, part), sum);
      });
      weights_[j] = sum_of(sum);
    }
  }

  void mask(const attention::Item& item, int64_t i, int64_t count) {
    const AttentionProblem& problem = call_.problem;
    const uint8_t* allowed = problem.allowed + item.segment * problem.allowed_segment_stride +
                             item.head * problem.allowed_head_stride + i * problem.allowed_query_stride;
    for (int64_t j = 0; j < count; ++j) {
      if (!allowed[j]) weights_[j] = masked_score;
    }
  }

  float maximum(int64_t count) {
    FloatVec largest = hn::Set(Floats(), masked_score);
    for_lanes(count, [&](int64_t j, auto part)
                         HWY_ATTR { largest = hn::Max(largest, keep_lanes(load(weights_ + j, part), largest, part)); });
    return max_of(largest);
  }

  // Scores become powers of two relative to the largest. Returns their sum.
  float exponentiate(int64_t count, float largest) {
    const FloatVec masked = hn::Set(Floats(), masked_score), most = hn::Set(Floats(), largest);
    FloatVec total = hn::Zero(Floats());
    for_lanes(count, [&](int64_t j, auto part) HWY_ATTR {
      const FloatVec score = keep_lanes(load(weights_ + j, part), masked, part);
      const FloatVec power = exp2_nonpositive(hn::Sub(score, most));
      const FloatVec weight = hn::IfThenElse(hn::Eq(score, masked), hn::Zero(Floats()), power);
      store(weight, weights_ + j);
      total = hn::Add(total, weight);
    });
    return sum_of(total);
  }

  void drop(const attention::Item& item, int64_t i, int64_t count) {
    const Dropout& dropout = call_.problem.dropout;
    const attention::Division& division = task_.division;
    const uint32_t threshold = keep_threshold(dropout.probability);
    const float factor = 1.0f / (1.0f - dropout.probability);
    const int64_t row = (item.segment * call_.problem.heads + item.head) * division.max_q + i;
    for (int64_t j = 0; j < count; ++j) {
      const bool keep = dropout.rng.bits(static_cast<uint64_t>(row * division.max_k + j)) < threshold;
      weights_[j] = keep ? weights_[j] * factor : 0.0f;
    }
  }

  void sum_values(const T* values, int64_t count, float factor, T* output) {
    const Floats d;
    const int64_t lanes = lane_count(), stride = call_.v.token_stride;
    int64_t c = 0;
    for (; c + 4 * lanes <= value_dim_; c += 4 * lanes) {
      FloatVec sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
      for (int64_t j = 0; j < count; ++j) {
        const FloatVec weight = hn::Set(d, weights_[j]);
#pragma GCC unroll 4
        for (int64_t v = 0; v < 4; ++v) {
          sums[v] = hn::MulAdd(weight, load(values + j * stride + c + v * lanes), sums[v]);
        }
      }
#pragma GCC unroll 4
      for (int64_t v = 0; v < 4; ++v) store(hn::Mul(sums[v], hn::Set(d, factor)), output + c + v * lanes);
    }
    for_lanes(value_dim_ - c, [&](int64_t rest, auto part) HWY_ATTR {
      FloatVec sum = hn::Zero(d);
      for (int64_t j = 0; j < count; ++j) {
        sum = hn::MulAdd(hn::Set(d, weights_[j]), load(values + j * stride + c + rest, part), sum);
      }
      store(hn::Mul(sum, hn::Set(d, factor)), output + c + rest, part);
    });
  }

  const AttentionForward& call_;
  const attention::Task& task_;
  const int64_t head_dim_, value_dim_;
  float* query_;    // (head_dim), times scale / ln 2
  float* weights_;  // (longest k)
};

void forward_few_queries(const AttentionForward& call, const attention::Task& task) {
  with_element(call.q.dtype, [&](auto element) { FewQueries<decltype(element)>(call, task).run(); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(forward_few_queries);

void attention::forward_few_queries(const AttentionForward& call, const Task& task) {
  HWY_DYNAMIC_DISPATCH(forward_few_queries)(call, task);
}

}  // namespace weft::kernels
#endif
