// Pieces of attention over a few keys and queries, where every array of a head is in the first-level cache and rows are
// read and written in place if they can be. Included after <hwy/foreach_target.h>.

#if defined(WEFT_KERNELS_SIMD_ATTENTION_SMALL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_ATTENTION_SMALL_INL_H_
#undef WEFT_KERNELS_SIMD_ATTENTION_SMALL_INL_H_
#else
#define WEFT_KERNELS_SIMD_ATTENTION_SMALL_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "weft/kernels/simd/attention_pack-inl.h"
#include "weft/kernels/simd/attention_prefetch-inl.h"
#include "weft/kernels/simd/attention_product-inl.h"
#include "weft/kernels/simd/attention_tile-inl.h"
#include "weft/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {

using attention::small_length;

// Rows of a head where they are, if they are f32 of whole vectors and a multiple of product_rows, else packed in `room`
// (small_length × padded width).
template <typename T>
HWY_INLINE PackedRows small_rows(const ConstHeads& heads, int64_t first, int64_t count, int64_t head, int64_t width,
                                 float* room) {
  const T* source = head_row<T>(heads, first, head);
  const int64_t padded_width = attention::round_up(width, lane_count());
  const int64_t multiple = std::max(attention::product_rows, lane_count());
  if constexpr (std::is_same_v<T, float>) {
    if (padded_width == width && count % multiple == 0) return {source, heads.token_stride};
  }
  pack_rows(source, heads.token_stride, count, width, attention::round_up(count, multiple), padded_width, room);
  return {room, padded_width};
}

// scores[j · block_queries + lane] = Σ_c keys[j, c] · queries[c · lanes + lane] for `rows` keys: one query per lane.
// Each number of the keys is a broadcast operand of one product, so a few columns of all rows go together.
template <int rows>
HWY_INLINE void small_scores(PackedRows keys, const float* HWY_RESTRICT queries, int64_t depth,
                             float* HWY_RESTRICT scores) {
  const Floats d;
  const int64_t lanes = lane_count();
  constexpr int columns = HWY_LANES(float) >= 4 ? 4 : 1;
  FloatVec sums[rows];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) sums[r] = hn::Zero(d);
  for (int64_t c = 0; c < depth; c += columns) {
    FloatVec right[columns];
#pragma GCC unroll 4
    for (int i = 0; i < columns; ++i) right[i] = load(queries + (c + i) * lanes);
    const float* HWY_RESTRICT key = keys.data + c;
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r, key += keys.stride) {
#pragma GCC unroll 4
      for (int i = 0; i < columns; ++i) sums[r] = hn::MulAdd(hn::Set(d, key[i]), right[i], sums[r]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) store(sums[r], scores + r * attention::block_queries);
}

// The same for any multiple of product_rows.
HWY_INLINE void small_scores(PackedRows keys, const float* queries, int64_t depth, int64_t count, float* scores) {
  constexpr int most = HWY_LANES(float) >= 16 ? 16 : 8;
  int64_t j = 0;
  for (; j + most <= count; j += most) {
    small_scores<most>({keys.data + j * keys.stride, keys.stride}, queries, depth,
                       scores + j * attention::block_queries);
  }
  if (j < count) {
    small_scores<8>({keys.data + j * keys.stride, keys.stride}, queries, depth, scores + j * attention::block_queries);
  }
}

// The result of a product of product_rows rows: straight into `target` if all of them and whole vectors are wanted,
// else by way of `room`.
template <Left left, typename T>
HWY_INLINE void small_product(Product product, int64_t rows, int64_t width, T* target, int64_t target_stride,
                              float* room) {
  const int64_t padded_width = attention::round_up(width, lane_count());
  if constexpr (std::is_same_v<T, float>) {
    if (rows >= attention::product_rows && padded_width == width) {
      product.c = target, product.c_stride = target_stride;
      multiply<left, Start::zero>(product, width);
      return;
    }
  }
  product.c = room, product.c_stride = padded_width;
  multiply<left, Start::zero>(product, padded_width);
  unpack_rows({room, padded_width}, std::min(rows, attention::product_rows), width, 1.0f, target, target_stride);
}

// Which lanes, queries from `i` of the tile on, see key j of it.
class SmallVisibility {
 public:
  SmallVisibility(const Tile& tile, int64_t i) : keys_(tile.keys) {
    const int64_t sees = tile.segment.k_length - tile.segment.q_length + i;
    first_ = tile.problem.causal ? static_cast<float>(sees) : 1e9f;
  }
  HWY_INLINE hn::Mask<Floats> operator()(int64_t j) const {
    const Floats d;
    const float key = j < keys_ ? static_cast<float>(j) : 2e9f;
    return hn::Le(hn::Set(d, key), hn::Iota(d, first_));
  }

 private:
  int64_t keys_;
  float first_;  // the last key that the first of the lanes sees
};

// Announces a share of the next segment's rows, of every head at once: they are one run of memory when heads lie side
// by side. Returns how many shares make the whole.
template <typename... Arrays>
HWY_INLINE void add_share(Prefetcher& prefetcher, int64_t first, int64_t length, int64_t share, int64_t shares,
                          int64_t heads, int64_t width, const Arrays&... arrays) {
  const int64_t begin = length * share / shares, end = length * (share + 1) / shares;
  (prefetcher.add(arrays, first + begin, end - begin, 0, heads, width), ...);
}

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
