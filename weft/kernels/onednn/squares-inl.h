// Squares of 16 bytes by as many rows, transposed in registers. Included once per instruction set.
#if defined(WEFT_KERNELS_ONEDNN_SQUARES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_ONEDNN_SQUARES_INL_H_
#undef WEFT_KERNELS_ONEDNN_SQUARES_INL_H_
#else
#define WEFT_KERNELS_ONEDNN_SQUARES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace weft::kernels::onednn {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
template <typename T>
void transpose_square(const T* from, int64_t from_stride, T* to, int64_t to_stride) {
  constexpr int64_t size = 16 / sizeof(T);
  for (int64_t c = 0; c < size; ++c) {
    for (int64_t r = 0; r < size; ++r) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

inline void transpose_words(const uint16_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
  for (int64_t c = 0; c < 4; ++c) {
    for (int64_t r = 0; r < 4; ++r) std::memcpy(to + c * to_stride + r, from + r * from_stride + 2 * c, sizeof *to);
  }
}

inline void interleave(const uint16_t* first, const uint16_t* second, uint16_t* to) {
  for (int64_t i = 0; i < 8; ++i) {
    to[2 * i] = first[i];
    to[2 * i + 1] = second[i];
  }
}
#else
// Sixteen bytes at a time on every processor: wider vectors would need shuffles across their lanes and are not faster,
// as the time goes to the caches.
template <typename T>
using Lanes = hn::FixedTag<T, 16 / sizeof(T)>;

// The transposed square of 16 bytes by as many rows, by merging rows i and i + half until each register is a column.
// Rows are given in half words, for those that start at any half word.
inline void transpose_words(const uint16_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
  const Lanes<uint32_t> d;
  const auto row = [&](int64_t r) { return hn::BitCast(d, hn::LoadU(Lanes<uint16_t>(), from + r * from_stride)); };
  const auto r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
  const auto a0 = hn::InterleaveLower(d, r0, r2), a1 = hn::InterleaveUpper(d, r0, r2);
  const auto a2 = hn::InterleaveLower(d, r1, r3), a3 = hn::InterleaveUpper(d, r1, r3);
  hn::StoreU(hn::InterleaveLower(d, a0, a2), d, to);
  hn::StoreU(hn::InterleaveUpper(d, a0, a2), d, to + to_stride);
  hn::StoreU(hn::InterleaveLower(d, a1, a3), d, to + 2 * to_stride);
  hn::StoreU(hn::InterleaveUpper(d, a1, a3), d, to + 3 * to_stride);
}

inline void transpose_square(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
  transpose_words(reinterpret_cast<const uint16_t*>(from), 2 * from_stride, to, to_stride);
}

inline void transpose_square(const uint16_t* from, int64_t from_stride, uint16_t* to, int64_t to_stride) {
  const Lanes<uint16_t> d;
  const auto row = [&](int64_t r) { return hn::LoadU(d, from + r * from_stride); };
  const auto store = [&](int64_t c, auto even, auto odd) {
    hn::StoreU(hn::InterleaveLower(d, even, odd), d, to + c * to_stride);
    hn::StoreU(hn::InterleaveUpper(d, even, odd), d, to + (c + 1) * to_stride);
  };
  const auto r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3), r4 = row(4), r5 = row(5), r6 = row(6), r7 = row(7);
  // a: columns 0-3 (even index) or 4-7 (odd) of two rows; b: two columns of four rows.
  const auto a0 = hn::InterleaveLower(d, r0, r4), a1 = hn::InterleaveUpper(d, r0, r4);
  const auto a2 = hn::InterleaveLower(d, r1, r5), a3 = hn::InterleaveUpper(d, r1, r5);
  const auto a4 = hn::InterleaveLower(d, r2, r6), a5 = hn::InterleaveUpper(d, r2, r6);
  const auto a6 = hn::InterleaveLower(d, r3, r7), a7 = hn::InterleaveUpper(d, r3, r7);
  const auto b0 = hn::InterleaveLower(d, a0, a4), b1 = hn::InterleaveUpper(d, a0, a4);
  const auto b2 = hn::InterleaveLower(d, a1, a5), b3 = hn::InterleaveUpper(d, a1, a5);
  const auto b4 = hn::InterleaveLower(d, a2, a6), b5 = hn::InterleaveUpper(d, a2, a6);
  const auto b6 = hn::InterleaveLower(d, a3, a7), b7 = hn::InterleaveUpper(d, a3, a7);
  store(0, b0, b4);
  store(2, b1, b5);
  store(4, b2, b6);
  store(6, b3, b7);
}

// Eight elements of each, by turns.
inline void interleave(const uint16_t* first, const uint16_t* second, uint16_t* to) {
  const Lanes<uint16_t> d;
  const auto a = hn::LoadU(d, first), b = hn::LoadU(d, second);
  hn::StoreU(hn::InterleaveLower(d, a, b), d, to);
  hn::StoreU(hn::InterleaveUpper(d, a, b), d, to + 8);
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels::onednn
HWY_AFTER_NAMESPACE();

#endif
