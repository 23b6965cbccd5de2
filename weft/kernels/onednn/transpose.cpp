#include "weft/kernels/onednn/transpose.h"

#include <algorithm>

#include "weft/base/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/onednn/transpose.cpp"
#include <hwy/cache_control.h>

#include <hwy/foreach_target.h>
#include "weft/kernels/onednn/squares-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels::onednn {
namespace HWY_NAMESPACE {
namespace {

// Columns [begin, end). Bands of rows that fill one cache line of the result, so that every line is written in one go.
template <typename T>
void transpose_columns(const T* from, int64_t rows, int64_t stride, int64_t begin, int64_t end, T* to,
                       int64_t to_stride) {
  constexpr int64_t square = 16 / sizeof(T);
  constexpr int64_t band = 64 / sizeof(T);
  const auto one_by_one = [&](int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
    for (int64_t c = c0; c < c1; ++c) {
      for (int64_t r = r0; r < r1; ++r) to[c * to_stride + r] = from[r * stride + c];
    }
  };
  const int64_t whole_end = begin + (end - begin) / square * square;
  int64_t r0 = 0;
  for (; r0 + square <= rows; r0 += band) {
    const int64_t r1 = std::min(r0 + band, rows / square * square);
    for (int64_t c = begin; c < whole_end; c += square) {
      if ((c - begin) % band == 0) {
        // So many rows at a constant distance are more than the processor foresees: asking four lines ahead doubles the
        // speed where the matrix does not fit into the caches.
        for (int64_t r = r0; r < r1; ++r) hwy::Prefetch(from + r * stride + std::min(c + 4 * band, end - 1));
      }
      for (int64_t r = r0; r < r1; r += square) {
        transpose_square(from + r * stride + c, stride, to + c * to_stride + r, to_stride);
      }
    }
    one_by_one(r0, r1, whole_end, end);
  }
  one_by_one(rows / square * square, rows, begin, end);
}

void transpose_u16(const uint16_t* from, int64_t rows, int64_t stride, int64_t begin, int64_t end, uint16_t* to,
                   int64_t to_stride) {
  transpose_columns(from, rows, stride, begin, end, to, to_stride);
}
void transpose_u32(const uint32_t* from, int64_t rows, int64_t stride, int64_t begin, int64_t end, uint32_t* to,
                   int64_t to_stride) {
  transpose_columns(from, rows, stride, begin, end, to, to_stride);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels::onednn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels::onednn {

namespace {

HWY_EXPORT(transpose_u16);
HWY_EXPORT(transpose_u32);

template <typename T>
void transpose_all(const ConstMatrix& from, void* to, int64_t to_stride) {
  constexpr int64_t unit = 64 / sizeof(T);  // columns in one cache line of the source
  const int64_t grain = std::max<int64_t>(1, (int64_t{64} << 10) / std::max<int64_t>(from.rows * 64, 1));
  parallel_for((from.cols + unit - 1) / unit, grain, [&](int64_t begin, int64_t end) {
    const auto columns = [&] {
      if constexpr (sizeof(T) == 2) {
        return HWY_DYNAMIC_DISPATCH(transpose_u16);
      } else {
        return HWY_DYNAMIC_DISPATCH(transpose_u32);
      }
    }();
    columns(static_cast<const T*>(from.data), from.rows, from.stride, begin * unit, std::min(end * unit, from.cols),
            static_cast<T*>(to), to_stride);
  });
}

}  // namespace

void transpose(const ConstMatrix& from, void* to, int64_t to_stride) {
  if (from.dtype == DType::bf16) {
    transpose_all<uint16_t>(from, to, to_stride);
  } else {
    transpose_all<uint32_t>(from, to, to_stride);
  }
}

}  // namespace weft::kernels::onednn
#endif
