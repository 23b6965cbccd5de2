#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/attention_small_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/simd/attention_kernels.h"
#include "weft/kernels/simd/attention_small-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

using attention::block_queries;
using attention::product_rows;

// The formulas of BackwardTask with all keys of a query at hand: rowsum(dO∘O) is then the sum over keys of
// weights ∘ d_weights, and the output is not read. One query head per key/value head.
template <typename T>
class SmallBackward {
 public:
  SmallBackward(const AttentionBackward& call, const attention::Task& task)
      : call_(call),
        task_(task),
        dropout_(call.problem.dropout),
        head_dim_(call.problem.head_dim),
        value_dim_(attention::value_dim_of(call.problem)),
        padded_head_dim_(attention::round_up(head_dim_, lane_count())),
        padded_value_dim_(attention::round_up(value_dim_, lane_count())) {
    constexpr int64_t tile = small_length * block_queries;
    const int64_t width = padded_head_dim_ + padded_value_dim_;
    attention::Scratch scratch(
        width * (2 * small_length + lane_count() + product_rows) + 3 * tile + dropout_scratch_size(), 11);
    query_room_ = scratch.take(small_length * padded_head_dim_);
    key_room_ = scratch.take(small_length * padded_head_dim_);
    value_room_ = scratch.take(small_length * padded_value_dim_);
    d_output_room_ = scratch.take(small_length * padded_value_dim_);
    queries_transposed_ = scratch.take(padded_head_dim_ * lane_count());
    d_outputs_transposed_ = scratch.take(padded_value_dim_ * lane_count());
    sum_room_ = scratch.take(product_rows * width);
    weights_ = scratch.take(tile);
    d_scores_ = scratch.take(tile);
    factors_ = scratch.take(tile);
    dropout_scratch_ = scratch.take(dropout_scratch_size());
  }

  void run() {
    const attention::Division& division = task_.division;
    for (int64_t index = task_.begin; index < task_.end; ++index) {
      if (index + division.heads < task_.end) prefetch(division.key_item(index + division.heads, call_.problem));
      run_item(division.key_item(index, call_.problem));
    }
  }

 private:
  static constexpr int64_t steps_per_item = 9;  // at least, of the prefetcher

  void prefetch(const attention::Item& later) {
    const AttentionSegment& segment = call_.problem.segments[static_cast<size_t>(later.segment)];
    const int64_t heads = call_.problem.heads;
    prefetcher_.clear();
    add_share(prefetcher_, segment.q_begin, segment.q_length, later.head, heads, heads, head_dim_, call_.q, call_.dq);
    add_share(prefetcher_, segment.q_begin, segment.q_length, later.head, heads, heads, value_dim_, call_.d_output);
    add_share(prefetcher_, segment.k_begin, segment.k_length, later.head, heads, heads, head_dim_, call_.k, call_.dk);
    add_share(prefetcher_, segment.k_begin, segment.k_length, later.head, heads, heads, value_dim_, call_.v, call_.dv);
    prefetcher_.pace(steps_per_item);
  }

  void run_item(const attention::Item& item) {
    const AttentionProblem& problem = call_.problem;
    const AttentionSegment& segment = problem.segments[static_cast<size_t>(item.segment)];
    const Tile tile{problem,          segment, task_.division,  item.segment, item.head, 0,
                    segment.q_length, 0,       segment.k_length};
    const PackedRows queries = small_rows<T>(call_.q, segment.q_begin, tile.queries, item.head, head_dim_, query_room_);
    const PackedRows keys = small_rows<T>(call_.k, segment.k_begin, tile.keys, item.head, head_dim_, key_room_);
    const PackedRows values = small_rows<T>(call_.v, segment.k_begin, tile.keys, item.head, value_dim_, value_room_);
    const PackedRows d_outputs =
        small_rows<T>(call_.d_output, segment.q_begin, tile.queries, item.head, value_dim_, d_output_room_);
    if (dropout_.active()) fill_dropout(tile, dropout_, dropout_scratch_, factors_);
    const int64_t lanes = lane_count();
    prefetcher_.step();
    for (int64_t i = 0; i < tile.padded_queries(); i += lanes) {
      const int64_t end = tile.visible_end(i);
      transpose({queries.data + i * queries.stride, queries.stride}, lanes, padded_head_dim_, problem.scale * log2_of_e,
                queries_transposed_, lanes);
      transpose({d_outputs.data + i * d_outputs.stride, d_outputs.stride}, lanes, padded_value_dim_, 1.0f,
                d_outputs_transposed_, lanes);
      prefetcher_.step();
      small_scores(keys, queries_transposed_, padded_head_dim_, end, weights_ + i);
      prefetcher_.step();
      small_scores(values, d_outputs_transposed_, padded_value_dim_, end, d_scores_ + i);
      if (dropout_.active()) {
        differentiate<true>(tile, i, end);
      } else {
        differentiate<false>(tile, i, end);
      }
    }
    write(tile, queries, keys, d_outputs);
  }

  // Of the queries of one vector: weights_ from scores to weights after dropout, d_scores_ from dO·Vᵀ to scale·dS.
  template <bool dropout>
  HWY_INLINE void differentiate(const Tile& tile, int64_t i, int64_t end) {
    const Floats d;
    const SmallVisibility visible(tile, i);
    float* HWY_RESTRICT weights = weights_ + i;
    float* HWY_RESTRICT d_scores = d_scores_ + i;
    const float* HWY_RESTRICT factors = factors_ + i;
    const float* log_sums = call_.log_sum_exp + tile.head * call_.log_sum_exp_stride + tile.segment.q_begin + i;
    FloatVec log_sum = hn::Zero(d);
    if (i + lane_count() <= tile.queries) {
      log_sum = load(log_sums);
    } else if (i < tile.queries) {
      log_sum = load(log_sums, SomeLanes{tile.queries - i});
    }
    log_sum = hn::Mul(log_sum, hn::Set(d, log2_of_e));
    FloatVec deltas[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (int64_t j = 0; j < end; j += 4) {
#pragma GCC unroll 4
      for (int64_t r = 0; r < 4; ++r) {
        const int64_t place = (j + r) * block_queries;
        const FloatVec power = exp2_nonpositive(hn::Sub(load(weights + place), log_sum));
        const FloatVec weight = hn::IfThenElse(visible(j + r), power, hn::Zero(d));
        store(weight, weights + place);
        FloatVec d_weight = load(d_scores + place);
        if constexpr (dropout) {
          d_weight = hn::Mul(d_weight, load(factors + place));
          store(d_weight, d_scores + place);
        }
        deltas[r] = hn::MulAdd(weight, d_weight, deltas[r]);
      }
    }
    const FloatVec delta = hn::Add(hn::Add(deltas[0], deltas[1]), hn::Add(deltas[2], deltas[3]));
    const FloatVec scale = hn::Set(d, call_.problem.scale);
    for (int64_t j = 0; j < end; ++j) {
      const int64_t place = j * block_queries;
      const FloatVec weight = load(weights + place);
      store(hn::Mul(hn::Mul(weight, scale), hn::Sub(load(d_scores + place), delta)), d_scores + place);
      if constexpr (dropout) store(hn::Mul(weight, load(factors + place)), weights + place);
    }
  }

  void write(const Tile& tile, PackedRows queries, PackedRows keys, PackedRows d_outputs) {
    T* dq = head_row<T>(call_.dq, tile.segment.q_begin, tile.head);
    T* dk = head_row<T>(call_.dk, tile.segment.k_begin, tile.head);
    T* dv = head_row<T>(call_.dv, tile.segment.k_begin, tile.head);
    for (int64_t j = 0; j < tile.keys; j += product_rows) {
      prefetcher_.step();
      const int64_t first = std::min(tile.first_seeing(j), tile.queries);
      const int64_t place = j * block_queries + first, count = tile.queries - first;
      small_product<Left::rows>({weights_ + place, block_queries, d_outputs.data + first * d_outputs.stride,
                                 d_outputs.stride, nullptr, 0, count},
                                tile.keys - j, value_dim_, dv + j * call_.dv.token_stride, call_.dv.token_stride,
                                sum_room_);
      prefetcher_.step();
      small_product<Left::rows>(
          {d_scores_ + place, block_queries, queries.data + first * queries.stride, queries.stride, nullptr, 0, count},
          tile.keys - j, head_dim_, dk + j * call_.dk.token_stride, call_.dk.token_stride, sum_room_);
    }
    for (int64_t i = 0; i < tile.queries; i += product_rows) {
      prefetcher_.step();
      small_product<Left::columns>(
          {d_scores_ + i, block_queries, keys.data, keys.stride, nullptr, 0, tile.visible(i + product_rows - 1)},
          tile.queries - i, head_dim_, dq + i * call_.dq.token_stride, call_.dq.token_stride, sum_room_);
    }
  }

  const AttentionBackward& call_;
  const attention::Task& task_;
  const DropoutFactors dropout_;
  const int64_t head_dim_, value_dim_;
  const int64_t padded_head_dim_, padded_value_dim_;
  Prefetcher prefetcher_;
  // Where rows are packed that cannot be read in place.
  float* query_room_;
  float* key_room_;
  float* value_room_;
  float* d_output_room_;
  float* queries_transposed_;    // (padded head_dim, lanes), times scale / ln 2
  float* d_outputs_transposed_;  // (padded value_dim, lanes)
  float* sum_room_;              // product_rows rows
  // (small_length keys, block_queries), as tiles are
  float* weights_;
  float* d_scores_;
  float* factors_;  // of dropout
  float* dropout_scratch_;
};

void backward_small(const AttentionBackward& call, const attention::Task& task) {
  with_element(call.q.dtype, [&](auto element) { SmallBackward<decltype(element)>(call, task).run(); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(backward_small);

void attention::backward_small(const AttentionBackward& call, const Task& task) {
  HWY_DYNAMIC_DISPATCH(backward_small)(call, task);
}

}  // namespace weft::kernels
#endif
