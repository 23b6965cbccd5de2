// Pieces of linear attention: the feature map, chunks of rows as the products want them, and the masked product within
// a chunk. Included after <hwy/foreach_target.h>.

#if defined(WEFT_KERNELS_SIMD_LINEAR_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_LINEAR_ATTENTION_INL_H_
#undef WEFT_KERNELS_SIMD_LINEAR_ATTENTION_INL_H_
#else
#define WEFT_KERNELS_SIMD_LINEAR_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "weft/kernels/simd/attention_pack-inl.h"
#include "weft/kernels/simd/attention_product-inl.h"
#include "weft/kernels/simd/lanes-inl.h"
#include "weft/kernels/simd/linear_attention_task.h"
#include "weft/kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {

using attention::product_rows;

// φ(x) = elu(x) + 1
HWY_INLINE FloatVec linear_feature(FloatVec x) {
  const Floats d;
  const FloatVec above = hn::Add(x, hn::Set(d, 1.0f));
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), above, exp_nonpositive(d, x));
}

// φ' as a function of φ.
HWY_INLINE FloatVec linear_feature_slope(FloatVec feature) { return hn::Min(feature, hn::Set(Floats(), 1.0f)); }

// target (padded count, padded_width) = map(source), zeros beyond `count` rows and `width` columns.
template <typename T, typename Map>
HWY_INLINE void pack_chunk(const T* source, int64_t source_stride, int64_t count, int64_t width, int64_t padded_width,
                           float* target, const Map& map) {
  for (int64_t row = 0; row < count; ++row) {
    const T* from = source + row * source_stride;
    float* to = target + row * padded_width;
    std::fill(to + width / linear::unit * linear::unit, to + padded_width, 0.0f);
    for_lanes(width, [&](int64_t i, auto part) HWY_ATTR { store(map(load(from + i, part)), to + i, part); });
  }
  std::fill(target + count * padded_width, target + linear::round_up(count, linear::unit) * padded_width, 0.0f);
}

template <typename T>
HWY_INLINE void pack_features(const T* source, int64_t source_stride, int64_t count, int64_t width,
                              int64_t padded_width, float* target) {
  pack_chunk(source, source_stride, count, width, padded_width, target,
             [](FloatVec x) HWY_ATTR { return linear_feature(x); });
}

template <typename T>
HWY_INLINE void pack_values(const T* source, int64_t source_stride, int64_t count, int64_t width, int64_t padded_width,
                            float* target) {
  pack_chunk(source, source_stride, count, width, padded_width, target, [](FloatVec x) HWY_ATTR { return x; });
}

// target[0 … columns) += Σ_row factor(row) · rows[row]
template <typename Factor>
HWY_INLINE void add_rows(const float* rows, int64_t stride, int64_t count, int64_t columns, float* target,
                         const Factor& factor) {
  const int64_t lanes = lane_count();
  for (int64_t c = 0; c < columns; c += lanes) {
    FloatVec sum = load(target + c);
    for (int64_t row = 0; row < count; ++row) {
      sum = hn::MulAdd(hn::Set(Floats(), factor(row)), load(rows + row * stride + c), sum);
    }
    store(sum, target + c);
  }
}

// All rows of a product, `product_rows` at a time; `rows` is rounded up.
template <Left left, Start start>
HWY_INLINE void multiply_rows(Product product, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; row += product_rows) {
    multiply<left, start>(product, columns);
    product.a += product_rows * (left == Left::rows ? product.a_stride : 1);
    product.c += product_rows * product.c_stride;
  }
}

// Columns from which on the rows [row, row + product_rows) of a masked product can differ from zero.
HWY_INLINE int64_t first_column(int64_t row) { return row / lane_count() * lane_count(); }

// target[j · chunk + i] = Σ_c keys[j, c] · queries[c, i] for i ≥ j, zero for the others of the diagonal blocks: what
// stands before first_column(j) is not written. Rows and columns up to `padded`, a multiple of the unit.
HWY_INLINE void masked_product(PackedRows keys, const float* queries, int64_t depth, int64_t padded, float* target) {
  const int64_t lanes = lane_count();
  for (int64_t row = 0; row < padded; row += product_rows) {
    const int64_t first = first_column(row);
    multiply<Left::rows, Start::zero>({keys.data + row * keys.stride, keys.stride, queries + first, linear::chunk,
                                       target + row * linear::chunk + first, linear::chunk, depth},
                                      padded - first);
    for (int64_t j = row; j < row + product_rows; ++j) {
      for (int64_t i = first; i < j; i += lanes) {
        float* at = target + j * linear::chunk + i;
        const auto seen = hn::Ge(hn::Iota(Floats(), static_cast<float>(i)), hn::Set(Floats(), static_cast<float>(j)));
        store(hn::IfThenElseZero(seen, load(at)), at);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
