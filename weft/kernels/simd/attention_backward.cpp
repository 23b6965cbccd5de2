#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/attention_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

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

// Gradients tile by tile from the saved log_sum_exp (Dao 2023, FlashAttention-2, algorithm 2). With P the weights, M
// the dropout factors, O the output:
//   dV = (P∘M)ᵀ dO,  dS = P∘((dO Vᵀ)∘M − rowsum(dO∘O)),  dQ = scale·dS K,  dK = scale·dSᵀ Q
// A task owns its keys: dk and dv of every query head of the group add up in its own memory.
template <typename T>
class BackwardTask {
 public:
  BackwardTask(const AttentionBackward& call, const attention::Task& task)
      : call_(call),
        task_(task),
        dropout_(call.problem.dropout),
        group_(call.problem.heads / call.problem.kv_heads),
        head_dim_(call.problem.head_dim),
        value_dim_(attention::value_dim_of(call.problem)),
        padded_head_dim_(attention::round_up(head_dim_, lane_count())),
        padded_value_dim_(attention::round_up(value_dim_, lane_count())) {
    const int64_t padded_keys =
        attention::round_up(task.division.pieces > 1 ? task.division.piece_length : task.division.max_k, product_rows);
    const int64_t tile = tile_keys * block_queries;
    const int64_t width = padded_head_dim_ + padded_value_dim_;
    attention::Scratch scratch(2 * padded_keys * width + block_queries * (2 * width + padded_head_dim_ + 2) + 5 * tile +
                                   dropout_scratch_size(),
                               16);
    keys_ = scratch.take(padded_keys * padded_head_dim_);
    values_ = scratch.take(padded_keys * padded_value_dim_);
    d_keys_ = scratch.take(padded_keys * padded_head_dim_);
    d_values_ = scratch.take(padded_keys * padded_value_dim_);
    queries_ = scratch.take(block_queries * padded_head_dim_);
    queries_transposed_ = scratch.take(block_queries * padded_head_dim_);
    d_queries_ = scratch.take(block_queries * padded_head_dim_);
    d_outputs_ = scratch.take(block_queries * padded_value_dim_);
    d_outputs_transposed_ = scratch.take(block_queries * padded_value_dim_);
    log_sums_ = scratch.take(block_queries);
    deltas_ = scratch.take(block_queries);
    weights_ = scratch.take(tile);
    d_scores_ = scratch.take(tile);
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
      item_ = division.key_item(index, call_.problem);
      segment_ = &call_.problem.segments[static_cast<size_t>(item_.segment)];
      if (division.dq_shares) dq_share_ = division.dq_shares + index * group_ * division.max_q * head_dim_;
      if (index + 1 < task_.end) prefetch(division.key_item(index + 1, call_.problem));
      run_item();
      prefetcher_.finish();
    }
  }

 private:
  // Announces the rows of the next item, to be fetched during this one.
  void prefetch(const attention::Item& next) {
    const AttentionSegment& segment = call_.problem.segments[static_cast<size_t>(next.segment)];
    const int64_t key = segment.k_begin + next.begin, keys = next.end - next.begin, head = next.head * group_;
    prefetcher_.clear();
    prefetcher_.add(call_.k, key, keys, next.head, 1, head_dim_);
    prefetcher_.add(call_.v, key, keys, next.head, 1, value_dim_);
    prefetcher_.add(call_.q, segment.q_begin, segment.q_length, head, 1, head_dim_);
    prefetcher_.add(call_.d_output, segment.q_begin, segment.q_length, head, 1, value_dim_);
    prefetcher_.add(call_.output, segment.q_begin, segment.q_length, head, 1, value_dim_);
    prefetcher_.add(call_.dq, segment.q_begin, segment.q_length, head, 1, head_dim_);
    prefetcher_.add(call_.dk, key, keys, next.head, 1, head_dim_);
    prefetcher_.add(call_.dv, key, keys, next.head, 1, value_dim_);
    prefetcher_.pace(segment_->q_length * (item_.end - item_.begin) /
                     (block_queries * product_rows * (call_.problem.causal ? 2 : 1)));
  }

  void run_item() {
    const int64_t row = segment_->k_begin + item_.begin, count = item_.end - item_.begin, kv_head = item_.head;
    const int64_t padded_count = attention::round_up(count, product_rows);
    pack_rows(head_row<T>(call_.k, row, kv_head), call_.k.token_stride, count, head_dim_, padded_count,
              padded_head_dim_, keys_);
    pack_rows(head_row<T>(call_.v, row, kv_head), call_.v.token_stride, count, value_dim_, padded_count,
              padded_value_dim_, values_);
    std::fill_n(d_keys_, padded_count * padded_head_dim_, 0.0f);
    std::fill_n(d_values_, padded_count * padded_value_dim_, 0.0f);
    for (int64_t head = kv_head * group_; head < (kv_head + 1) * group_; ++head) {
      for (int64_t i = 0; i < segment_->q_length; i += block_queries) {
        run_block(head, i, std::min(block_queries, segment_->q_length - i));
      }
    }
    unpack_rows({d_keys_, padded_head_dim_}, count, head_dim_, call_.problem.scale, head_row<T>(call_.dk, row, kv_head),
                call_.dk.token_stride);
    unpack_rows({d_values_, padded_value_dim_}, count, value_dim_, 1.0f, head_row<T>(call_.dv, row, kv_head),
                call_.dv.token_stride);
  }

  void run_block(int64_t head, int64_t first, int64_t count) {
    Tile tile{call_.problem, *segment_, task_.division, item_.segment, head, first, count, 0, 0};
    const int64_t end = std::min(item_.end, attention::visible_keys(call_.problem, *segment_, tile.last_query()));
    std::fill_n(d_queries_, tile.padded_queries() * padded_head_dim_, 0.0f);
    if (end > item_.begin) load_queries(tile);
    for (tile.key = item_.begin; tile.key < end; tile.key += tile_keys) {
      tile.keys = std::min(tile_keys, end - tile.key);
      run_tile(tile);
    }
    write_queries(tile);
  }

  void load_queries(const Tile& tile) {
    const int64_t padded = tile.padded_queries(), row = segment_->q_begin + tile.query;
    pack_rows(head_row<T>(call_.q, row, tile.head), call_.q.token_stride, tile.queries, head_dim_, padded,
              padded_head_dim_, queries_);
    pack_rows(head_row<T>(call_.d_output, row, tile.head), call_.d_output.token_stride, tile.queries, value_dim_,
              padded, padded_value_dim_, d_outputs_);
    transpose({queries_, padded_head_dim_}, padded, padded_head_dim_, call_.problem.scale * log2_of_e,
              queries_transposed_, block_queries);
    transpose({d_outputs_, padded_value_dim_}, padded, padded_value_dim_, 1.0f, d_outputs_transposed_, block_queries);
    const float* log_sum_exp = call_.log_sum_exp + tile.head * call_.log_sum_exp_stride + row;
    for (int64_t i = 0; i < tile.queries; ++i) {
      const T* output = head_row<T>(call_.output, row + i, tile.head);
      const float* d_output = d_outputs_ + i * padded_value_dim_;
      FloatVec sum = hn::Zero(Floats());
      for_lanes(value_dim_, [&](int64_t c, auto part)
                                HWY_ATTR { sum = hn::MulAdd(load(output + c, part), load(d_output + c), sum); });
      deltas_[i] = sum_of(sum);
      log_sums_[i] = log_sum_exp[i] * log2_of_e;
    }
    std::fill(deltas_ + tile.queries, deltas_ + padded, 0.0f);
    std::fill(log_sums_ + tile.queries, log_sums_ + padded, 0.0f);
  }

  void run_tile(const Tile& tile) {
    const int64_t padded = tile.padded_queries(), lanes = lane_count();
    const int64_t key_row = tile.key - item_.begin;
    const float* keys = keys_ + key_row * padded_head_dim_;
    const float* values = values_ + key_row * padded_value_dim_;
    for (int64_t j = 0; j < tile.keys; j += product_rows) {
      const int64_t skipped = tile.first_step_seeing(j);
      if (skipped >= padded) break;
      prefetcher_.step();
      const int64_t place = j * block_queries + skipped;
      multiply<Left::rows, Start::zero>({keys + j * padded_head_dim_, padded_head_dim_, queries_transposed_ + skipped,
                                         block_queries, weights_ + place, block_queries, head_dim_},
                                        padded - skipped);
      multiply<Left::rows, Start::zero>(
          {values + j * padded_value_dim_, padded_value_dim_, d_outputs_transposed_ + skipped, block_queries,
           d_scores_ + place, block_queries, value_dim_},
          padded - skipped);
    }
    if (allowed_) fill_allowed(tile, allowed_rows_, allowed_);
    if (dropout_.active()) fill_dropout(tile, dropout_, dropout_scratch_, factors_);
    for (int64_t i = 0; i < padded; i += lanes) {
      if (dropout_.active()) {
        differentiate<true>(tile, i);
      } else {
        differentiate<false>(tile, i);
      }
    }
    for (int64_t j = 0; j < tile.keys; j += product_rows) {
      const int64_t first = tile.first_seeing(j);
      if (first >= tile.queries) break;
      const int64_t place = j * block_queries + first;
      multiply<Left::rows, Start::add>(
          {weights_ + place, block_queries, d_outputs_ + first * padded_value_dim_, padded_value_dim_,
           d_values_ + (key_row + j) * padded_value_dim_, padded_value_dim_, tile.queries - first},
          padded_value_dim_);
      multiply<Left::rows, Start::add>(
          {d_scores_ + place, block_queries, queries_ + first * padded_head_dim_, padded_head_dim_,
           d_keys_ + (key_row + j) * padded_head_dim_, padded_head_dim_, tile.queries - first},
          padded_head_dim_);
    }
    for (int64_t i = 0; i < tile.queries; i += product_rows) {
      multiply<Left::columns, Start::add>(
          {d_scores_ + i, block_queries, keys, padded_head_dim_, d_queries_ + i * padded_head_dim_, padded_head_dim_,
           tile.visible(i + product_rows - 1)},
          padded_head_dim_);
    }
  }

  // Of one vector of queries: weights_ from scores to weights after dropout, d_scores_ from dO·Vᵀ to dS.
  template <bool dropout>
  HWY_INLINE void differentiate(const Tile& tile, int64_t i) {
    const Floats d;
    const Visibility seen(tile, i, allowed_);
    float* HWY_RESTRICT weights = weights_ + i;
    float* HWY_RESTRICT d_scores = d_scores_ + i;
    const float* HWY_RESTRICT factors = factors_ + i;
    const FloatVec log_sum = load(log_sums_ + i);
    const FloatVec delta = load(deltas_ + i);
    const auto finish = [&](int64_t j, FloatVec weight) HWY_ATTR {
      FloatVec d_weight = load(d_scores + j * block_queries);
      FloatVec kept = weight;
      if constexpr (dropout) {
        const FloatVec factor = load(factors + j * block_queries);
        d_weight = hn::Mul(d_weight, factor);
        kept = hn::Mul(weight, factor);
      }
      store(kept, weights + j * block_queries);
      store(hn::Mul(weight, hn::Sub(d_weight, delta)), d_scores + j * block_queries);
    };
    for (int64_t j = 0; j < seen.all; ++j) {
      finish(j, exp2_nonpositive(hn::Sub(load(weights + j * block_queries), log_sum)));
    }
    for (int64_t j = seen.all; j < seen.end; ++j) {
      const FloatVec weight = exp2_nonpositive(hn::Sub(load(weights + j * block_queries), log_sum));
      finish(j, hn::IfThenElse(seen.visible(j, i), weight, hn::Zero(d)));
    }
  }

  void write_queries(const Tile& tile) {
    if (dq_share_) {
      const int64_t row = (tile.head - item_.head * group_) * task_.division.max_q + tile.query;
      unpack_rows({d_queries_, padded_head_dim_}, tile.queries, head_dim_, call_.problem.scale,
                  dq_share_ + row * head_dim_, head_dim_);
    } else {
      unpack_rows({d_queries_, padded_head_dim_}, tile.queries, head_dim_, call_.problem.scale,
                  head_row<T>(call_.dq, segment_->q_begin + tile.query, tile.head), call_.dq.token_stride);
    }
  }

  const AttentionBackward& call_;
  const attention::Task& task_;
  const DropoutFactors dropout_;
  const int64_t group_;  // query heads of a key/value head
  const int64_t head_dim_, value_dim_;
  const int64_t padded_head_dim_, padded_value_dim_;
  attention::Item item_{};
  const AttentionSegment* segment_ = nullptr;
  float* dq_share_ = nullptr;
  Prefetcher prefetcher_;
  // Of the item's keys, in rows of padded_head_dim_ or padded_value_dim_.
  float* keys_;
  float* values_;
  float* d_keys_;
  float* d_values_;
  // Of a block of queries; the transposed ones have rows of block_queries.
  float* queries_;
  float* queries_transposed_;  // times scale / ln 2
  float* d_queries_;
  float* d_outputs_;
  float* d_outputs_transposed_;
  float* log_sums_;  // in units of ln 2
  float* deltas_;    // rowsum(dO∘O)
  // (tile_keys, block_queries)
  float* weights_;
  float* d_scores_;
  float* factors_ = nullptr;  // of dropout
  float* dropout_scratch_ = nullptr;
  float* allowed_ = nullptr;  // 1 or 0
  float* allowed_rows_ = nullptr;
};

void backward_tiled(const AttentionBackward& call, const attention::Task& task) {
  with_element(call.q.dtype, [&](auto element) { BackwardTask<decltype(element)>(call, task).run(); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(backward_tiled);

void attention::backward_tiled(const AttentionBackward& call, const Task& task) {
  HWY_DYNAMIC_DISPATCH(backward_tiled)(call, task);
}

}  // namespace weft::kernels
#endif
