// Rows of heads as the products of attention want them: f32, padded to whole vectors, or transposed. Included after
// <hwy/foreach_target.h>.

#if defined(WEFT_KERNELS_SIMD_ATTENTION_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_ATTENTION_PACK_INL_H_
#undef WEFT_KERNELS_SIMD_ATTENTION_PACK_INL_H_
#else
#define WEFT_KERNELS_SIMD_ATTENTION_PACK_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "weft/kernels/simd/lanes-inl.h"
#include "weft/kernels/view.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {

// f32 rows of whole vectors.
struct PackedRows {
  const float* data;
  int64_t stride;
};

template <typename T>
HWY_INLINE const T* head_row(const ConstHeads& heads, int64_t token, int64_t head) {
  return static_cast<const T*>(heads.data) + token * heads.token_stride + head * heads.head_stride;
}

template <typename T>
HWY_INLINE T* head_row(const MutableHeads& heads, int64_t token, int64_t head) {
  return static_cast<T*>(heads.data) + token * heads.token_stride + head * heads.head_stride;
}

// Copies `count` rows of `width` to rows of `padded_width` floats; what is beyond the width, and rows up to
// `padded_count`, are zeros.
template <typename T>
HWY_INLINE void pack_rows(const T* source, int64_t source_stride, int64_t count, int64_t width, int64_t padded_count,
                          int64_t padded_width, float* target) {
  for (int64_t row = 0; row < count; ++row) {
    const T* from = source + row * source_stride;
    float* to = target + row * padded_width;
    for_lanes(width, [&](int64_t i, auto part) HWY_ATTR { store(load(from + i, part), to + i); });
  }
  std::fill(target + count * padded_width, target + padded_count * padded_width, 0.0f);
}

// The opposite: target[row, i] = factor · source[row, i] for `count` rows of `width`.
template <typename T>
HWY_INLINE void unpack_rows(PackedRows source, int64_t count, int64_t width, float factor, T* target,
                            int64_t target_stride) {
  const FloatVec scale = hn::Set(Floats(), factor);
  for (int64_t row = 0; row < count; ++row) {
    const float* from = source.data + row * source.stride;
    T* to = target + row * target_stride;
    for_lanes(width, [&](int64_t i, auto part) HWY_ATTR { store(hn::Mul(load(from + i), scale), to + i, part); });
  }
}

// target[i · target_stride + j] = factor · source[j · source_stride + i] for a square of lane_count() on each side.
// First within squares of four, the blocks of a vector, then of the blocks.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void transpose_square(const float* source, int64_t, float* target, int64_t, FloatVec factor) {
  store(hn::Mul(load(source), factor), target);
}
#else
HWY_INLINE void transpose_fours(FloatVec* rows) {
  const Floats d;
  const hn::RepartitionToWide<Floats> wide;
  const auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, rows[0], rows[1]));
  const auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, rows[2], rows[3]));
  const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(d, rows[0], rows[1]));
  const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(d, rows[2], rows[3]));
  rows[0] = hn::BitCast(d, hn::InterleaveLower(wide, low01, low23));
  rows[1] = hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23));
  rows[2] = hn::BitCast(d, hn::InterleaveLower(wide, high01, high23));
  rows[3] = hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23));
}

HWY_INLINE void transpose_square(const float* source, int64_t source_stride, float* target, int64_t target_stride,
                                 FloatVec factor) {
  constexpr int64_t n = HWY_LANES(float);
  static_assert(n == 4 || n == 8 || n == 16);
  FloatVec rows[n];
#pragma GCC unroll 16
  for (int64_t r = 0; r < n; ++r) rows[r] = hn::Mul(load(source + r * source_stride), factor);
#pragma GCC unroll 4
  for (int64_t r = 0; r < n; r += 4) transpose_fours(rows + r);
#if HWY_MAX_BYTES == 64
  const Floats d;
#pragma GCC unroll 4
  for (int64_t r = 0; r < 4; ++r) {
    const FloatVec even01 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(rows[4 + r]), rows[r]);
    const FloatVec odd01 = hn::OddEvenBlocks(rows[4 + r], hn::SwapAdjacentBlocks(rows[r]));
    const FloatVec even23 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(rows[12 + r]), rows[8 + r]);
    const FloatVec odd23 = hn::OddEvenBlocks(rows[12 + r], hn::SwapAdjacentBlocks(rows[8 + r]));
    store(hn::ConcatLowerLower(d, even23, even01), target + r * target_stride);
    store(hn::ConcatLowerLower(d, odd23, odd01), target + (4 + r) * target_stride);
    store(hn::ConcatUpperUpper(d, even23, even01), target + (8 + r) * target_stride);
    store(hn::ConcatUpperUpper(d, odd23, odd01), target + (12 + r) * target_stride);
  }
#elif HWY_MAX_BYTES == 32
  const Floats d;
#pragma GCC unroll 4
  for (int64_t r = 0; r < 4; ++r) {
    store(hn::ConcatLowerLower(d, rows[4 + r], rows[r]), target + r * target_stride);
    store(hn::ConcatUpperUpper(d, rows[4 + r], rows[r]), target + (4 + r) * target_stride);
  }
#else
#pragma GCC unroll 4
  for (int64_t r = 0; r < 4; ++r) store(rows[r], target + r * target_stride);
#endif
}
#endif

// target (columns, target_stride) = factor · sourceᵀ; rows and columns are multiples of the lanes.
HWY_INLINE void transpose(PackedRows source, int64_t rows, int64_t columns, float factor, float* target,
                          int64_t target_stride) {
  const int64_t lanes = lane_count();
  const FloatVec scale = hn::Set(Floats(), factor);
  for (int64_t r = 0; r < rows; r += lanes) {
    for (int64_t c = 0; c < columns; c += lanes) {
      transpose_square(source.data + r * source.stride + c, source.stride, target + c * target_stride + r,
                       target_stride, scale);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
