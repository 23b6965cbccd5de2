// Small matrix products in registers, for the tiles of attention. Included after <hwy/foreach_target.h>.

#if defined(WEFT_KERNELS_SIMD_ATTENTION_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_ATTENTION_PRODUCT_INL_H_
#undef WEFT_KERNELS_SIMD_ATTENTION_PRODUCT_INL_H_
#else
#define WEFT_KERNELS_SIMD_ATTENTION_PRODUCT_INL_H_
#endif

#include <cstdint>

#include "weft/kernels/simd/attention_task.h"
#include "weft/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {

// c = start + a·b with `product_rows` rows, f32; rows of b and c are whole vectors.
struct Product {
  const float* a;
  int64_t a_stride;
  const float* b;
  int64_t b_stride;
  float* c;
  int64_t c_stride;
  int64_t depth;
  const float* row_factors = nullptr;  // Start::scaled: what the rows of c are multiplied by before
};

// Where element (row, i) of a is: at a[row · a_stride + i], or, a being kept transposed, at a[i · a_stride + row].
enum class Left { rows, columns };
enum class Start { zero, add, scaled };

// Rows in one go: accumulators, operands and one broadcast fill the register file.
constexpr int64_t kernel_rows = HWY_LANES(float) >= 16 ? 8 : 4;
static_assert(attention::product_rows % kernel_rows == 0);

template <Left left, Start start, int vectors>
HWY_INLINE void multiply_block(const Product& p, int64_t row, int64_t column) {
  const Floats d;
  const int64_t lanes = lane_count();
  const float* HWY_RESTRICT a = p.a + (left == Left::rows ? row * p.a_stride : row);
  const float* HWY_RESTRICT b = p.b + column;
  float* HWY_RESTRICT c = p.c + row * p.c_stride + column;
  FloatVec sums[kernel_rows][vectors];
#pragma GCC unroll 8
  for (int64_t r = 0; r < kernel_rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      if constexpr (start == Start::zero) {
        sums[r][v] = hn::Zero(d);
      } else if constexpr (start == Start::add) {
        sums[r][v] = load(c + r * p.c_stride + v * lanes);
      } else {
        sums[r][v] = hn::Mul(load(c + r * p.c_stride + v * lanes), hn::Set(d, p.row_factors[row + r]));
      }
    }
  }
  for (int64_t i = 0; i < p.depth; ++i) {
    FloatVec right[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) right[v] = load(b + i * p.b_stride + v * lanes);
#pragma GCC unroll 8
    for (int64_t r = 0; r < kernel_rows; ++r) {
      const FloatVec x = hn::Set(d, left == Left::rows ? a[r * p.a_stride + i] : a[i * p.a_stride + r]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[r][v] = hn::MulAdd(x, right[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int64_t r = 0; r < kernel_rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(sums[r][v], c + r * p.c_stride + v * lanes);
  }
}

// All `columns` (a multiple of the lanes) of product_rows rows.
template <Left left, Start start>
HWY_INLINE void multiply(const Product& p, int64_t columns) {
  const int64_t lanes = lane_count();
  for (int64_t row = 0; row < attention::product_rows; row += kernel_rows) {
    int64_t column = 0;
    for (; column + 2 * lanes <= columns; column += 2 * lanes) multiply_block<left, start, 2>(p, row, column);
    if (column < columns) multiply_block<left, start, 1>(p, row, column);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
