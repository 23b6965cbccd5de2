#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/linear_attention_forward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/simd/linear_attention-inl.h"
#include "weft/kernels/simd/linear_attention_task.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

using linear::chunk;

// One key/value head of one segment after the other, chunk after chunk: read what the chunk's queries see of the keys
// before it from S and z, of its own keys by the masked product; then add its keys to S and z.
template <typename T>
class LinearForward {
 public:
  LinearForward(const LinearAttentionForward& call, const linear::Task& task)
      : call_(call),
        task_(task),
        head_dim_(call.attention.problem.head_dim),
        value_dim_(linear::value_dim_of(call.attention.problem)),
        padded_head_dim_(linear::round_up(head_dim_, linear::unit)),
        padded_value_dim_(linear::round_up(value_dim_, linear::unit)) {
    linear::Scratch scratch(chunk * (3 * padded_head_dim_ + padded_value_dim_ + chunk + 1) +
                                (padded_head_dim_ + product_rows) * padded_value_dim_ + padded_head_dim_,
                            9);
    queries_ = scratch.take(chunk * padded_head_dim_);
    queries_transposed_ = scratch.take(padded_head_dim_ * chunk);
    keys_ = scratch.take(chunk * padded_head_dim_);
    values_ = scratch.take(chunk * padded_value_dim_);
    products_ = scratch.take(chunk * chunk);
    inverse_ = scratch.take(chunk);
    sums_ = scratch.take(padded_head_dim_ * padded_value_dim_);
    key_sums_ = scratch.take(padded_head_dim_);
    room_ = scratch.take(product_rows * padded_value_dim_);
  }

  void run() {
    for (int64_t index = task_.begin; index < task_.end; ++index) run_head({call_.attention.problem, index});
  }

 private:
  void run_head(const linear::Head& head) {
    const AttentionSegment& segment = head.segment;
    const bool causal = call_.attention.problem.causal;
    float* state = call_.attention.states.empty() ? nullptr
                                                  : call_.attention.states[static_cast<size_t>(head.segment_index)] +
                                                        head.kv_head * head_dim_ * (value_dim_ + 1);
    load_state(state);
    for (int64_t j = 0; j < head.prefix; j += chunk) {
      pack_keys(head, j, std::min(chunk, head.prefix - j));
      add_keys(std::min(chunk, head.prefix - j));
    }
    for (int64_t i = 0; i < head.skipped; ++i) {
      for (int64_t h = head.first_head; h < head.end_head; ++h) write_zeros(segment.q_begin + i, h);
    }
    for (int64_t i = head.skipped; i < segment.q_length; i += chunk) {
      const int64_t count = std::min(chunk, segment.q_length - i);
      if (causal) pack_keys(head, head.prefix + i - head.skipped, count);
      for (int64_t h = head.first_head; h < head.end_head; ++h) {
        if (causal) {
          read_chunk<true>(segment.q_begin + i, h, count);
        } else {
          read_chunk<false>(segment.q_begin + i, h, count);
        }
      }
      if (causal && (state != nullptr || i + count < segment.q_length)) add_keys(count);
    }
    if (state != nullptr) store_state(state);
  }

  void load_state(const float* state) {
    std::fill_n(sums_, padded_head_dim_ * padded_value_dim_, 0.0f);
    std::fill_n(key_sums_, padded_head_dim_, 0.0f);
    if (state == nullptr) return;
    for (int64_t c = 0; c < head_dim_; ++c) {
      std::copy_n(state + c * value_dim_, value_dim_, sums_ + c * padded_value_dim_);
    }
    std::copy_n(state + head_dim_ * value_dim_, head_dim_, key_sums_);
  }

  void store_state(float* state) {
    for (int64_t c = 0; c < head_dim_; ++c) {
      std::copy_n(sums_ + c * padded_value_dim_, value_dim_, state + c * value_dim_);
    }
    std::copy_n(key_sums_, head_dim_, state + head_dim_ * value_dim_);
  }

  void pack_keys(const linear::Head& head, int64_t first, int64_t count) {
    const ConstHeads &k = call_.attention.k, &v = call_.attention.v;
    const int64_t row = head.segment.k_begin + first;
    pack_features(head_row<T>(k, row, head.kv_head), k.token_stride, count, head_dim_, padded_head_dim_, keys_);
    pack_values(head_row<T>(v, row, head.kv_head), v.token_stride, count, value_dim_, padded_value_dim_, values_);
  }

  // S += φ(K)ᵀ V, z += Σ φ(k)
  void add_keys(int64_t count) {
    multiply_rows<Left::columns, Start::add>(
        {keys_, padded_head_dim_, values_, padded_value_dim_, sums_, padded_value_dim_, count}, head_dim_,
        padded_value_dim_);
    add_rows(keys_, padded_head_dim_, count, padded_head_dim_, key_sums_, [](int64_t) { return 1.0f; });
  }

  void write_zeros(int64_t row, int64_t head) {
    std::fill_n(head_row<T>(call_.output, row, head), value_dim_, T(0.0f));
    if (call_.denominators) call_.denominators[head * call_.denominator_stride + row] = 0.0f;
  }

  // The output of `count` queries from `row` on; `within`: they also see the packed keys, each up to its own.
  template <bool within>
  void read_chunk(int64_t row, int64_t head, int64_t count) {
    const ConstHeads& q = call_.attention.q;
    const int64_t padded = linear::round_up(count, linear::unit);
    pack_features(head_row<T>(q, row, head), q.token_stride, count, head_dim_, padded_head_dim_, queries_);
    transpose({queries_, padded_head_dim_}, padded, padded_head_dim_, 1.0f, queries_transposed_, chunk);
    if constexpr (within) {
      masked_product({keys_, padded_head_dim_}, queries_transposed_, head_dim_, padded, products_);
    }
    divide<within>(row, head, count);
    for (int64_t i = 0; i < count; i += product_rows) {
      multiply<Left::columns, Start::zero>(
          {queries_transposed_ + i, chunk, sums_, padded_value_dim_, room_, padded_value_dim_, head_dim_},
          padded_value_dim_);
      if constexpr (within) {
        multiply<Left::columns, Start::add>({products_ + i, chunk, values_, padded_value_dim_, room_, padded_value_dim_,
                                             std::min(i + product_rows, count)},
                                            padded_value_dim_);
      }
      write_rows(row + i, head, inverse_ + i, std::min(product_rows, count - i));
    }
  }

  // inverse_ = 1 / φ(q)·z, or 0 where that is 0.
  template <bool within>
  void divide(int64_t row, int64_t head, int64_t count) {
    const Floats d;
    const int64_t lanes = lane_count();
    for (int64_t i = 0; i < count; i += lanes) {
      FloatVec totals[2] = {hn::Zero(d), hn::Zero(d)};
      for (int64_t c = 0; c < padded_head_dim_; c += 2) {
        totals[0] = hn::MulAdd(hn::Set(d, key_sums_[c]), load(queries_transposed_ + c * chunk + i), totals[0]);
        totals[1] =
            hn::MulAdd(hn::Set(d, key_sums_[c + 1]), load(queries_transposed_ + (c + 1) * chunk + i), totals[1]);
      }
      if constexpr (within) {
        for (int64_t j = 0; j < std::min(i + lanes, count); ++j) {
          totals[j % 2] = hn::Add(totals[j % 2], load(products_ + j * chunk + i));
        }
      }
      const FloatVec total = hn::Add(totals[0], totals[1]);
      const FloatVec inverse = hn::IfThenZeroElse(hn::Eq(total, hn::Zero(d)), hn::Div(hn::Set(d, 1.0f), total));
      store(inverse, inverse_ + i);
      if (!call_.denominators) continue;
      float* kept = call_.denominators + head * call_.denominator_stride + row + i;
      if (i + lanes <= count) {
        store(total, kept);
      } else {
        store(total, kept, SomeLanes{count - i});
      }
    }
  }

  void write_rows(int64_t row, int64_t head, const float* factors, int64_t count) {
    for (int64_t r = 0; r < count; ++r) {
      const FloatVec factor = hn::Set(Floats(), factors[r]);
      const float* from = room_ + r * padded_value_dim_;
      T* to = head_row<T>(call_.output, row + r, head);
      for_lanes(value_dim_,
                [&](int64_t e, auto part) HWY_ATTR { store(hn::Mul(load(from + e), factor), to + e, part); });
    }
  }

  const LinearAttentionForward& call_;
  const linear::Task& task_;
  const int64_t head_dim_, value_dim_;
  const int64_t padded_head_dim_, padded_value_dim_;
  float* queries_;             // φ(Q) (chunk, padded head_dim)
  float* queries_transposed_;  // (padded head_dim, chunk)
  float* keys_;                // φ(K) (chunk, padded head_dim)
  float* values_;              // (chunk, padded value_dim)
  float* products_;            // φ(K) φ(Q)ᵀ, masked
  float* inverse_;             // (chunk)
  float* sums_;                // S (padded head_dim, padded value_dim)
  float* key_sums_;            // z (padded head_dim)
  float* room_;                // (product_rows, padded value_dim)
};

void linear_forward_chunks(const LinearAttentionForward& call, const linear::Task& task) {
  with_element(call.output.dtype, [&](auto element) { LinearForward<decltype(element)>(call, task).run(); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(linear_forward_chunks);

void linear::forward_chunks(const LinearAttentionForward& call, const Task& task) {
  HWY_DYNAMIC_DISPATCH(linear_forward_chunks)(call, task);
}

}  // namespace weft::kernels
#endif
