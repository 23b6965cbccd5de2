#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/attention_forward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "weft/kernels/simd/attention_kernels.h"
#include "weft/kernels/simd/attention_pack-inl.h"
#include "weft/kernels/simd/attention_prefetch-inl.h"
#include "weft/kernels/simd/attention_product-inl.h"
#include "weft/kernels/simd/attention_tile-inl.h"
#include "weft/kernels/simd/lanes-inl.h"
#include "weft/kernels/simd/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

using attention::block_queries;
using attention::product_rows;
using attention::tile_keys;

// A running softmax (Milakov and Gimelshein 2018) over tiles of keys, for one block of queries after the other.
template <typename T>
class ForwardTask {
 public:
  ForwardTask(const AttentionForward& call, const attention::Task& task)
      : call_(call),
        task_(task),
        dropout_(call.problem.dropout),
        group_(call.problem.heads / call.problem.kv_heads),
        head_dim_(call.problem.head_dim),
        value_dim_(attention::value_dim_of(call.problem)),
        padded_head_dim_(attention::round_up(head_dim_, lane_count())),
        padded_value_dim_(attention::round_up(value_dim_, lane_count())) {
    const int64_t padded_keys = attention::round_up(task.division.max_k, product_rows);
    const int64_t tile = tile_keys * block_queries;
    attention::Scratch scratch(padded_keys * (padded_head_dim_ + padded_value_dim_) +
                                   block_queries * (2 * padded_head_dim_ + padded_value_dim_ + 3) + 4 * tile +
                                   dropout_scratch_size(),
                               12);
    keys_ = scratch.take(padded_keys * padded_head_dim_);
    values_ = scratch.take(padded_keys * padded_value_dim_);
    queries_ = scratch.take(block_queries * padded_head_dim_);
    queries_transposed_ = scratch.take(padded_head_dim_ * block_queries);
    sums_ = scratch.take(block_queries * padded_value_dim_);
    maxima_ = scratch.take(block_queries);
    totals_ = scratch.take(block_queries);
    corrections_ = scratch.take(block_queries);
    scores_ = scratch.take(tile);
    if (dropout_.active()) {
      factors_ = scratch.take(tile);
      dropout_scratch_ = scratch.take(dropout_scratch_size());
    }
    if (call.problem.allowed) {
      allowed_ = scratch.take(tile);
      allowed_rows_ = scratch.take(tile);
    }
  }

  void run() {
    const attention::Division& division = task_.division;
    for (int64_t index = task_.begin; index < task_.end; ++index) {
      const attention::Item item = division.query_item(index, call_.problem);
      if (index + 1 < task_.end) prefetch(division.query_item(index + 1, call_.problem), item.end - item.begin);
      pack(item.segment, item.head / group_);
      for (int64_t i = item.begin; i < item.end; i += block_queries) {
        run_block(item, i, std::min(block_queries, item.end - i));
      }
      prefetcher_.finish();
    }
  }

 private:
  // Announces the rows of the next item, to be fetched while `queries` queries are computed.
  void prefetch(const attention::Item& next, int64_t queries) {
    const AttentionSegment& segment = call_.problem.segments[static_cast<size_t>(next.segment)];
    const int64_t kv_head = next.head / group_;
    prefetcher_.clear();
    if (next.segment != packed_segment_ || kv_head != packed_head_) {
      prefetcher_.add(call_.k, segment.k_begin, segment.k_length, kv_head, 1, head_dim_);
      prefetcher_.add(call_.v, segment.k_begin, segment.k_length, kv_head, 1, value_dim_);
    }
    const int64_t count = next.end - next.begin;
    prefetcher_.add(call_.q, segment.q_begin + next.begin, count, next.head, 1, head_dim_);
    prefetcher_.add(call_.output, segment.q_begin + next.begin, count, next.head, 1, value_dim_);
    prefetcher_.pace(queries * segment.k_length / (block_queries * product_rows * (call_.problem.causal ? 2 : 1)));
  }

  void pack(int64_t segment, int64_t kv_head) {
    if (segment == packed_segment_ && kv_head == packed_head_) return;
    packed_segment_ = segment, packed_head_ = kv_head;
    segment_ = &call_.problem.segments[static_cast<size_t>(segment)];
    const int64_t first = segment_->k_begin, count = segment_->k_length;
    pack_rows(head_row<T>(call_.k, first, kv_head), call_.k.token_stride, count, head_dim_,
              attention::round_up(count, product_rows), padded_head_dim_, keys_);
    pack_rows(head_row<T>(call_.v, first, kv_head), call_.v.token_stride, count, value_dim_, count, padded_value_dim_,
              values_);
  }

  void run_block(const attention::Item& item, int64_t first, int64_t count) {
    Tile tile{call_.problem, *segment_, task_.division, item.segment, item.head, first, count, 0, 0};
    const int64_t padded = tile.padded_queries();
    pack_rows(head_row<T>(call_.q, segment_->q_begin + first, item.head), call_.q.token_stride, count, head_dim_,
              padded, padded_head_dim_, queries_);
    transpose({queries_, padded_head_dim_}, padded, padded_head_dim_, call_.problem.scale * log2_of_e,
              queries_transposed_, block_queries);
    std::fill_n(maxima_, padded, masked_score);
    std::fill_n(totals_, padded, 0.0f);
    const int64_t end = attention::visible_keys(call_.problem, *segment_, tile.last_query());
    for (tile.key = 0; tile.key < end; tile.key += tile_keys) {
      tile.keys = std::min(tile_keys, end - tile.key);
      run_tile(tile);
    }
    if (end == 0) std::fill_n(sums_, count * padded_value_dim_, 0.0f);
    write(tile);
  }

  void run_tile(const Tile& tile) {
    const int64_t padded = tile.padded_queries(), lanes = lane_count();
    for (int64_t j = 0; j < tile.keys; j += product_rows) {
      const int64_t skipped = tile.first_step_seeing(j);
      if (skipped >= padded) break;
      prefetcher_.step();
      multiply<Left::rows, Start::zero>(
          {keys_ + (tile.key + j) * padded_head_dim_, padded_head_dim_, queries_transposed_ + skipped, block_queries,
           scores_ + j * block_queries + skipped, block_queries, head_dim_},
          padded - skipped);
    }
    if (allowed_) fill_allowed(tile, allowed_rows_, allowed_);
    if (dropout_.active()) fill_dropout(tile, dropout_, dropout_scratch_, factors_);
    for (int64_t i = 0; i < padded; i += lanes) {
      if (dropout_.active()) {
        weigh<true>(tile, i);
      } else {
        weigh<false>(tile, i);
      }
    }
    for (int64_t i = 0; i < tile.queries; i += product_rows) {
      const Product product{scores_ + i,
                            block_queries,
                            values_ + tile.key * padded_value_dim_,
                            padded_value_dim_,
                            sums_ + i * padded_value_dim_,
                            padded_value_dim_,
                            tile.visible(i + product_rows - 1),
                            corrections_ + i};
      if (tile.key == 0) {
        multiply<Left::columns, Start::zero>(product, padded_value_dim_);
      } else {
        multiply<Left::columns, Start::scaled>(product, padded_value_dim_);
      }
    }
  }

  // Scores of one vector of queries become weights relative to the running maximum.
  template <bool dropout>
  HWY_INLINE void weigh(const Tile& tile, int64_t i) {
    const Floats d;
    const Visibility seen(tile, i, allowed_);
    float* HWY_RESTRICT scores = scores_ + i;
    const float* HWY_RESTRICT factors = factors_ + i;
    const FloatVec masked = hn::Set(d, masked_score);
    const FloatVec before = load(maxima_ + i);
    FloatVec largest = before;
    for (int64_t j = 0; j < seen.all; ++j) largest = hn::Max(largest, load(scores + j * block_queries));
    for (int64_t j = seen.all; j < seen.end; ++j) {
      const FloatVec score = hn::IfThenElse(seen.visible(j, i), load(scores + j * block_queries), masked);
      store(score, scores + j * block_queries);
      largest = hn::Max(largest, score);
    }
    const FloatVec correction = exp2_nonpositive(hn::Sub(before, largest));
    FloatVec total = hn::Mul(load(totals_ + i), correction);
    const auto keep = [&](int64_t j, FloatVec weight) HWY_ATTR {
      total = hn::Add(total, weight);
      if constexpr (dropout) weight = hn::Mul(weight, load(factors + j * block_queries));
      store(weight, scores + j * block_queries);
    };
    for (int64_t j = 0; j < seen.all; ++j) {
      keep(j, exp2_nonpositive(hn::Sub(load(scores + j * block_queries), largest)));
    }
    for (int64_t j = seen.all; j < seen.end; ++j) {
      const FloatVec score = load(scores + j * block_queries);
      const FloatVec weight = exp2_nonpositive(hn::Sub(score, largest));
      keep(j, hn::IfThenZeroElse(hn::Eq(score, masked), weight));
    }
    store(largest, maxima_ + i);
    store(total, totals_ + i);
    store(correction, corrections_ + i);
  }

  void write(const Tile& tile) {
    const Floats d;
    const int64_t row = segment_->q_begin + tile.query;
    HWY_ALIGN float inverses[block_queries];
    float* log_sum_exp = call_.log_sum_exp ? call_.log_sum_exp + tile.head * call_.log_sum_exp_stride + row : nullptr;
    for (int64_t i = 0; i < tile.queries; i += lane_count()) {
      const FloatVec total = load(totals_ + i);
      const auto none = hn::Eq(total, hn::Zero(d));
      store(hn::IfThenZeroElse(none, hn::Div(hn::Set(d, 1.0f), total)), inverses + i);
      if (!log_sum_exp) continue;
      const FloatVec sum = hn::MulAdd(load(maxima_ + i), hn::Set(d, ln_of_2), hn::Log(d, total));
      const FloatVec value = hn::IfThenElse(none, hn::Neg(hn::Inf(d)), sum);
      if (i + lane_count() <= tile.queries) {
        store(value, log_sum_exp + i);
      } else {
        store(value, log_sum_exp + i, SomeLanes{tile.queries - i});
      }
    }
    for (int64_t i = 0; i < tile.queries; ++i) {
      const float* sum = sums_ + i * padded_value_dim_;
      T* output = head_row<T>(call_.output, row + i, tile.head);
      const FloatVec inverse = hn::Set(d, inverses[i]);
      for_lanes(value_dim_,
                [&](int64_t c, auto part) HWY_ATTR { store(hn::Mul(load(sum + c), inverse), output + c, part); });
    }
  }

  const AttentionForward& call_;
  const attention::Task& task_;
  const DropoutFactors dropout_;
  const int64_t group_;
  const int64_t head_dim_, value_dim_;
  const int64_t padded_head_dim_, padded_value_dim_;
  const AttentionSegment* segment_ = nullptr;
  int64_t packed_segment_ = -1, packed_head_ = -1;  // whose keys and values are packed
  Prefetcher prefetcher_;
  float* keys_;                // (padded keys, padded head_dim)
  float* values_;              // (keys, padded value_dim)
  float* queries_;             // (block_queries, padded head_dim)
  float* queries_transposed_;  // (padded head_dim, block_queries), times scale / ln 2
  float* sums_;                // (block_queries, padded value_dim)
  float* maxima_;              // (block_queries): of the scores so far, in units of ln 2
  float* totals_;              // (block_queries): Σ 2^(score − maximum)
  float* corrections_;         // (block_queries): what sums so far are multiplied by
  float* scores_;              // (tile_keys, block_queries)
  float* factors_ = nullptr;   // (tile_keys, block_queries): of dropout
  float* dropout_scratch_ = nullptr;
  float* allowed_ = nullptr;  // (tile_keys, block_queries): 1 or 0
  float* allowed_rows_ = nullptr;
};

void forward_tiled(const AttentionForward& call, const attention::Task& task) {
  with_element(call.q.dtype, [&](auto element) { ForwardTask<decltype(element)>(call, task).run(); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(forward_tiled);

void attention::forward_tiled(const AttentionForward& call, const Task& task) {
  HWY_DYNAMIC_DISPATCH(forward_tiled)(call, task);
}

}  // namespace weft::kernels
#endif
