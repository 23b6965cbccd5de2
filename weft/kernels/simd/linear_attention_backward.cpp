#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/linear_attention_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/simd/linear_attention-inl.h"
#include "weft/kernels/simd/linear_attention_task.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

using linear::chunk;

// With n_i = φ(q_i)·S_i and D_i = φ(q_i)·z_i, output = n/D and its gradients are dn = d_output/D and
// dD = −(d_output·output)/D. Writing v' for (v, 1) and dn' for (dn, dD), A for φ(Q)φ(K)ᵀ and dA for dn'·v'ᵀ:
//   dφ(q_i) = Σ_j dA_ij φ(k_j),   dφ(k_j) = Σ_i dA_ij φ(q_i),   dv_j = Σ_i A_ij dn_i,   over i that see j.
// Two walks over the chunks, each with the pairs of other chunks gathered in one matrix of sums: forwards for dφ(q)
// with Σ v'_j φ(k_j)ᵀ, backwards for dφ(k) and dv with Σ dn'_i φ(q_i)ᵀ.
template <typename T>
class LinearBackward {
 public:
  LinearBackward(const LinearAttentionBackward& call, const linear::Task& task)
      : call_(call),
        task_(task),
        head_dim_(call.attention.problem.head_dim),
        value_dim_(linear::value_dim_of(call.attention.problem)),
        width_(linear::round_up(head_dim_, linear::unit)),
        value_width_(linear::round_up(value_dim_ + 1, linear::unit)) {
    linear::Scratch scratch(chunk * (4 * width_ + 4 * value_width_ + 2 * chunk) + 2 * width_ * value_width_, 12);
    queries_ = scratch.take(chunk * width_);
    queries_transposed_ = scratch.take(width_ * chunk);
    d_quotients_ = scratch.take(chunk * value_width_);
    d_quotients_transposed_ = scratch.take(value_width_ * chunk);
    keys_ = scratch.take(chunk * width_);
    values_ = scratch.take(chunk * value_width_);
    products_ = scratch.take(chunk * chunk);
    d_products_ = scratch.take(chunk * chunk);
    sums_ = scratch.take(value_width_ * width_);
    sums_transposed_ = scratch.take(width_ * value_width_);
    d_features_ = scratch.take(chunk * width_);
    d_values_ = scratch.take(chunk * value_width_);
  }

  void run() {
    for (int64_t index = task_.begin; index < task_.end; ++index) {
      const linear::Head head(call_.attention.problem, index);
      find_d_queries(head);
      find_d_keys(head);
    }
  }

 private:
  bool causal() const { return call_.attention.problem.causal; }

  void clear_sums() { std::fill_n(sums_, value_width_ * width_, 0.0f); }

  // φ(K) and v', whose last column is 1 for every key.
  void pack_keys(const linear::Head& head, int64_t first, int64_t count) {
    const ConstHeads &k = call_.attention.k, &v = call_.attention.v;
    const int64_t row = head.segment.k_begin + first;
    pack_features(head_row<T>(k, row, head.kv_head), k.token_stride, count, head_dim_, width_, keys_);
    pack_values(head_row<T>(v, row, head.kv_head), v.token_stride, count, value_dim_, value_width_, values_);
    for (int64_t j = 0; j < count; ++j) values_[j * value_width_ + value_dim_] = 1.0f;
  }

  // φ(Q), dn' and their transposes.
  void pack_queries(int64_t row, int64_t head, int64_t count) {
    const ConstHeads& q = call_.attention.q;
    const int64_t padded = linear::round_up(count, linear::unit);
    pack_features(head_row<T>(q, row, head), q.token_stride, count, head_dim_, width_, queries_);
    transpose({queries_, width_}, padded, width_, 1.0f, queries_transposed_, chunk);
    pack_d_quotients(row, head, count);
  }

  void pack_d_quotients(int64_t row, int64_t head, int64_t count) {
    const int64_t padded = linear::round_up(count, linear::unit);
    pack_values(head_row<T>(call_.d_output, row, head), call_.d_output.token_stride, count, value_dim_, value_width_,
                d_quotients_);
    for (int64_t i = 0; i < count; ++i) {
      float* d_quotient = d_quotients_ + i * value_width_;
      const float denominator = call_.denominators[head * call_.denominator_stride + row + i];
      const float inverse = denominator == 0.0f ? 0.0f : 1.0f / denominator;
      const T* output = head_row<T>(call_.output, row + i, head);
      const float product = sum_lanes(value_dim_, [&](int64_t e, auto part) HWY_ATTR {
        return hn::Mul(load(d_quotient + e, part), load(output + e, part));
      });
      for_lanes(value_width_, [&](int64_t e, auto) HWY_ATTR {
        store(hn::Mul(load(d_quotient + e), hn::Set(Floats(), inverse)), d_quotient + e);
      });
      d_quotient[value_dim_] = -product * inverse;
    }
    transpose({d_quotients_, value_width_}, padded, value_width_, 1.0f, d_quotients_transposed_, chunk);
  }

  // sums_ (v', e) += leftᵀ · right for left (count, v') and right (count, e).
  void add_sums(const float* left, const float* right, int64_t count) {
    const int64_t whole = value_dim_ / product_rows * product_rows;
    multiply_rows<Left::columns, Start::add>({left, value_width_, right, width_, sums_, width_, count}, whole, width_);
    for (int64_t e = whole; e <= value_dim_; ++e) {
      add_rows(right, width_, count, width_, sums_ + e * width_,
               [&](int64_t row) { return left[row * value_width_ + e]; });
    }
  }

  void find_d_queries(const linear::Head& head) {
    const AttentionSegment& segment = head.segment;
    clear_sums();
    for (int64_t j = 0; j < head.prefix; j += chunk) {
      const int64_t count = std::min(chunk, head.prefix - j);
      pack_keys(head, j, count);
      add_sums(values_, keys_, count);
    }
    for (int64_t i = 0; i < head.skipped; ++i) {
      for (int64_t h = head.first_head; h < head.end_head; ++h) {
        std::fill_n(head_row<T>(call_.dq, segment.q_begin + i, h), head_dim_, T(0.0f));
      }
    }
    for (int64_t i = head.skipped; i < segment.q_length; i += chunk) {
      const int64_t count = std::min(chunk, segment.q_length - i);
      if (causal()) pack_keys(head, head.prefix + i - head.skipped, count);
      for (int64_t h = head.first_head; h < head.end_head; ++h) write_d_queries(segment.q_begin + i, h, count);
      if (causal() && i + count < segment.q_length) add_sums(values_, keys_, count);
    }
  }

  void write_d_queries(int64_t row, int64_t head, int64_t count) {
    const int64_t padded = linear::round_up(count, linear::unit);
    const ConstHeads& q = call_.attention.q;
    pack_features(head_row<T>(q, row, head), q.token_stride, count, head_dim_, width_, queries_);
    pack_d_quotients(row, head, count);
    if (causal()) masked_product({values_, value_width_}, d_quotients_transposed_, value_dim_ + 1, padded, d_products_);
    for (int64_t i = 0; i < count; i += product_rows) {
      float* rows = d_features_ + i * width_;
      multiply<Left::columns, Start::zero>(
          {d_quotients_transposed_ + i, chunk, sums_, width_, rows, width_, value_dim_ + 1}, width_);
      if (causal()) {
        multiply<Left::columns, Start::add>(
            {d_products_ + i, chunk, keys_, width_, rows, width_, std::min(i + product_rows, count)}, width_);
      }
    }
    write_d_inputs(queries_, count, head_row<T>(call_.dq, row, head), call_.dq.token_stride);
  }

  // From d_features_ by way of φ'.
  void write_d_inputs(const float* features, int64_t count, T* target, int64_t stride) {
    for (int64_t i = 0; i < count; ++i) {
      T* to = target + i * stride;
      for_lanes(head_dim_, [&](int64_t c, auto part) HWY_ATTR {
        const FloatVec slope = linear_feature_slope(load(features + i * width_ + c));
        store(hn::Mul(load(d_features_ + i * width_ + c), slope), to + c, part);
      });
    }
  }

  void find_d_keys(const linear::Head& head) {
    const AttentionSegment& segment = head.segment;
    clear_sums();
    const int64_t queries = segment.q_length - head.skipped;
    for (int64_t t = (queries - 1) / chunk * chunk; t >= 0 && queries > 0; t -= chunk) {
      const int64_t count = std::min(chunk, queries - t);
      const int64_t row = segment.q_begin + head.skipped + t;
      if (causal()) begin_d_keys(head, head.prefix + t, count);
      for (int64_t h = head.first_head; h < head.end_head; ++h) {
        pack_queries(row, h, count);
        if (causal()) add_d_keys_within(count);
        add_sums(d_quotients_, queries_, count);
      }
      if (causal()) write_d_keys(head, head.prefix + t, count);
    }
    for (int64_t j = 0; j < head.prefix; j += chunk) {
      const int64_t count = std::min(chunk, head.prefix - j);
      begin_d_keys(head, j, count);
      write_d_keys(head, j, count);
    }
  }

  // dφ(K) and dV of `count` keys from the queries in the sums.
  void begin_d_keys(const linear::Head& head, int64_t first, int64_t count) {
    pack_keys(head, first, count);
    transpose({sums_, width_}, value_width_, width_, 1.0f, sums_transposed_, value_width_);
    multiply_rows<Left::rows, Start::zero>({values_, value_width_, sums_, width_, d_features_, width_, value_dim_ + 1},
                                           count, width_);
    multiply_rows<Left::rows, Start::zero>(
        {keys_, width_, sums_transposed_, value_width_, d_values_, value_width_, head_dim_}, count, d_value_columns());
  }

  // Columns of dv, without that of the ones unless it shares a vector with others.
  int64_t d_value_columns() const { return linear::round_up(value_dim_, linear::unit); }

  // The same from the packed queries, those at or after each key.
  void add_d_keys_within(int64_t count) {
    const int64_t padded = linear::round_up(count, linear::unit);
    masked_product({keys_, width_}, queries_transposed_, head_dim_, padded, products_);
    masked_product({values_, value_width_}, d_quotients_transposed_, value_dim_ + 1, padded, d_products_);
    for (int64_t j = 0; j < count; j += product_rows) {
      const int64_t first = first_column(j), at = j * chunk + first, depth = count - first;
      multiply<Left::rows, Start::add>(
          {d_products_ + at, chunk, queries_ + first * width_, width_, d_features_ + j * width_, width_, depth},
          width_);
      multiply<Left::rows, Start::add>({products_ + at, chunk, d_quotients_ + first * value_width_, value_width_,
                                        d_values_ + j * value_width_, value_width_, depth},
                                       d_value_columns());
    }
  }

  void write_d_keys(const linear::Head& head, int64_t first, int64_t count) {
    const int64_t row = head.segment.k_begin + first;
    write_d_inputs(keys_, count, head_row<T>(call_.dk, row, head.kv_head), call_.dk.token_stride);
    unpack_rows({d_values_, value_width_}, count, value_dim_, 1.0f, head_row<T>(call_.dv, row, head.kv_head),
                call_.dv.token_stride);
  }

  const LinearAttentionBackward& call_;
  const linear::Task& task_;
  const int64_t head_dim_, value_dim_;
  const int64_t width_, value_width_;  // padded head_dim and value_dim + 1
  float* queries_;                     // φ(Q) (chunk, width)
  float* queries_transposed_;          // (width, chunk)
  float* d_quotients_;                 // dn' (chunk, value_width)
  float* d_quotients_transposed_;      // (value_width, chunk)
  float* keys_;                        // φ(K) (chunk, width)
  float* values_;                      // v' (chunk, value_width)
  float* products_;                    // Aᵀ, masked
  float* d_products_;                  // dAᵀ, masked
  float* sums_;                        // (value_width, width)
  float* sums_transposed_;             // (width, value_width)
  float* d_features_;                  // dφ(Q) or dφ(K) (chunk, width)
  float* d_values_;                    // (chunk, value_width)
};

void linear_backward_chunks(const LinearAttentionBackward& call, const linear::Task& task) {
  with_element(call.output.dtype, [&](auto element) { LinearBackward<decltype(element)>(call, task).run(); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(linear_backward_chunks);

void linear::backward_chunks(const LinearAttentionBackward& call, const Task& task) {
  HWY_DYNAMIC_DISPATCH(linear_backward_chunks)(call, task);
}

}  // namespace weft::kernels
#endif
