#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/attention_small_forward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "weft/kernels/simd/attention_kernels.h"
#include "weft/kernels/simd/attention_small-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

using attention::block_queries;
using attention::product_rows;

// One head of one segment after the other, lane_count() queries at a time against all keys.
template <typename T>
class SmallForward {
 public:
  SmallForward(const AttentionForward& call, const attention::Task& task)
      : call_(call),
        task_(task),
        dropout_(call.problem.dropout),
        head_dim_(call.problem.head_dim),
        value_dim_(attention::value_dim_of(call.problem)),
        padded_head_dim_(attention::round_up(head_dim_, lane_count())),
        padded_value_dim_(attention::round_up(value_dim_, lane_count())) {
    constexpr int64_t tile = small_length * block_queries;
    attention::Scratch scratch(small_length * (2 * padded_head_dim_ + padded_value_dim_) +
                                   padded_head_dim_ * lane_count() + product_rows * padded_value_dim_ + 2 * tile +
                                   dropout_scratch_size(),
                               8);
    query_room_ = scratch.take(small_length * padded_head_dim_);
    key_room_ = scratch.take(small_length * padded_head_dim_);
    value_room_ = scratch.take(small_length * padded_value_dim_);
    queries_transposed_ = scratch.take(padded_head_dim_ * lane_count());
    sum_room_ = scratch.take(product_rows * padded_value_dim_);
    scores_ = scratch.take(tile);
    factors_ = scratch.take(tile);
    dropout_scratch_ = scratch.take(dropout_scratch_size());
  }

  void run() {
    const attention::Division& division = task_.division;
    for (int64_t index = task_.begin; index < task_.end; ++index) {
      const attention::Item item = division.query_item(index, call_.problem);
      if (index + division.heads < task_.end) prefetch(division.query_item(index + division.heads, call_.problem));
      run_item(item);
    }
  }

 private:
  static constexpr int64_t steps_per_item = 4;  // at least, of the prefetcher

  void prefetch(const attention::Item& later) {
    const AttentionSegment& segment = call_.problem.segments[static_cast<size_t>(later.segment)];
    const int64_t heads = call_.problem.heads, kv_heads = call_.problem.kv_heads;
    prefetcher_.clear();
    add_share(prefetcher_, segment.q_begin, segment.q_length, later.head, heads, heads, head_dim_, call_.q);
    add_share(prefetcher_, segment.q_begin, segment.q_length, later.head, heads, heads, value_dim_, call_.output);
    add_share(prefetcher_, segment.k_begin, segment.k_length, later.head, heads, kv_heads, head_dim_, call_.k);
    add_share(prefetcher_, segment.k_begin, segment.k_length, later.head, heads, kv_heads, value_dim_, call_.v);
    prefetcher_.pace(steps_per_item);
  }

  void run_item(const attention::Item& item) {
    const AttentionProblem& problem = call_.problem;
    const AttentionSegment& segment = problem.segments[static_cast<size_t>(item.segment)];
    const int64_t kv_head = item.head / (problem.heads / problem.kv_heads);
    const Tile tile{problem,          segment, task_.division,  item.segment, item.head, 0,
                    segment.q_length, 0,       segment.k_length};
    const PackedRows queries =
        small_rows<T>(call_.q, segment.q_begin, segment.q_length, item.head, head_dim_, query_room_);
    const PackedRows keys = small_rows<T>(call_.k, segment.k_begin, segment.k_length, kv_head, head_dim_, key_room_);
    const PackedRows values =
        small_rows<T>(call_.v, segment.k_begin, segment.k_length, kv_head, value_dim_, value_room_);
    if (dropout_.active()) fill_dropout(tile, dropout_, dropout_scratch_, factors_);
    prefetcher_.step();
    for (int64_t i = 0; i < tile.padded_queries(); i += lane_count()) {
      const int64_t end = tile.visible_end(i);
      transpose({queries.data + i * queries.stride, queries.stride}, lane_count(), padded_head_dim_,
                problem.scale * log2_of_e, queries_transposed_, lane_count());
      prefetcher_.step();
      small_scores(keys, queries_transposed_, padded_head_dim_, end, scores_ + i);
      if (dropout_.active()) {
        weigh<true>(tile, i, end);
      } else {
        weigh<false>(tile, i, end);
      }
    }
    T* output = head_row<T>(call_.output, segment.q_begin, item.head);
    for (int64_t i = 0; i < tile.queries; i += product_rows) {
      prefetcher_.step();
      small_product<Left::columns>(
          {scores_ + i, block_queries, values.data, values.stride, nullptr, 0, tile.visible(i + product_rows - 1)},
          tile.queries - i, value_dim_, output + i * call_.output.token_stride, call_.output.token_stride, sum_room_);
    }
  }

  // Scores of the queries of one vector become weights, after dropout.
  template <bool dropout>
  HWY_INLINE void weigh(const Tile& tile, int64_t i, int64_t end) {
    const Floats d;
    const SmallVisibility visible(tile, i);
    float* HWY_RESTRICT scores = scores_ + i;
    const float* HWY_RESTRICT factors = factors_ + i;
    const FloatVec masked = hn::Set(d, masked_score);
    FloatVec largest[4] = {masked, masked, masked, masked};
    for (int64_t j = 0; j < end; j += 4) {
#pragma GCC unroll 4
      for (int64_t r = 0; r < 4; ++r) {
        const FloatVec score = hn::IfThenElse(visible(j + r), load(scores + (j + r) * block_queries), masked);
        largest[r] = hn::Max(largest[r], score);
      }
    }
    const FloatVec most = hn::Max(hn::Max(largest[0], largest[1]), hn::Max(largest[2], largest[3]));
    FloatVec totals[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (int64_t j = 0; j < end; j += 4) {
#pragma GCC unroll 4
      for (int64_t r = 0; r < 4; ++r) {
        const FloatVec power = exp2_nonpositive(hn::Sub(load(scores + (j + r) * block_queries), most));
        const FloatVec weight = hn::IfThenElse(visible(j + r), power, hn::Zero(d));
        totals[r] = hn::Add(totals[r], weight);
        store(weight, scores + (j + r) * block_queries);
      }
    }
    const FloatVec total = hn::Add(hn::Add(totals[0], totals[1]), hn::Add(totals[2], totals[3]));
    const auto none = hn::Eq(total, hn::Zero(d));
    const FloatVec inverse = hn::IfThenElse(none, hn::Zero(d), hn::Div(hn::Set(d, 1.0f), total));
    for (int64_t j = 0; j < end; ++j) {
      FloatVec weight = hn::Mul(load(scores + j * block_queries), inverse);
      if constexpr (dropout) weight = hn::Mul(weight, load(factors + j * block_queries));
      store(weight, scores + j * block_queries);
    }
    if (!call_.log_sum_exp || i >= tile.queries) return;
    const FloatVec sum = hn::MulAdd(most, hn::Set(d, ln_of_2), hn::Log(d, total));
    const FloatVec value = hn::IfThenElse(none, hn::Neg(hn::Inf(d)), sum);
    float* log_sum_exp =
        call_.log_sum_exp + tile.head * call_.log_sum_exp_stride + tile.segment.q_begin + tile.query + i;
    if (i + lane_count() <= tile.queries) {
      store(value, log_sum_exp);
    } else {
      store(value, log_sum_exp, SomeLanes{tile.queries - i});
    }
  }

  const AttentionForward& call_;
  const attention::Task& task_;
  const DropoutFactors dropout_;
  const int64_t head_dim_, value_dim_;
  const int64_t padded_head_dim_, padded_value_dim_;
  Prefetcher prefetcher_;
  // Where rows are packed that cannot be read in place.
  float* query_room_;
  float* key_room_;
  float* value_room_;
  float* queries_transposed_;  // (padded head_dim, lanes), times scale / ln 2
  float* sum_room_;            // (product_rows, padded value_dim)
  float* scores_;              // (small_length keys, block_queries), as tiles are
  float* factors_;             // the same, of dropout
  float* dropout_scratch_;
};

void forward_small(const AttentionForward& call, const attention::Task& task) {
  with_element(call.q.dtype, [&](auto element) { SmallForward<decltype(element)>(call, task).run(); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(forward_small);

void attention::forward_small(const AttentionForward& call, const Task& task) {
  HWY_DYNAMIC_DISPATCH(forward_small)(call, task);
}

}  // namespace weft::kernels
#endif
