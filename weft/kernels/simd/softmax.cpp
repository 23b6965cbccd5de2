#include "weft/kernels/softmax.h"

#include <limits>

#include "weft/base/threads.h"
#include "weft/kernels/simd/matrix.h"
#include "weft/kernels/simd/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/softmax.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/simd/lanes-inl.h"
#include "weft/kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

// The largest element; NaN elements may or may not count.
template <typename T>
HWY_INLINE float largest_of(const T* x, int64_t count) {
  const FloatVec lowest = hn::Set(Floats(), -std::numeric_limits<float>::infinity());
  FloatVec largest = lowest;
  for_lanes(count, [&](int64_t c, auto part)
                       HWY_ATTR { largest = hn::Max(largest, keep_lanes(load(x + c, part), lowest, part)); });
  return max_of(largest);
}

// row = e^(x − shift); their sum, NaN if there is one in x.
template <typename From>
HWY_INLINE float exponentials(const From* x, int64_t cols, float shift, float* row) {
  const FloatVec shifts = hn::Set(Floats(), shift);
  return sum_lanes(cols, [&](int64_t c, auto part) HWY_ATTR {
    const FloatVec power = exp_nonpositive(Floats(), hn::Sub(load(x + c, part), shifts));
    store(power, row + c, part);
    return power;
  });
}

template <typename From, typename To>
HWY_INLINE void softmax_group(const ConstMatrix& x, const MutableMatrix& y, int64_t begin, int64_t rows,
                              float* powers) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const int64_t cols = x.cols;
  float factor[max_group_rows];
  // In a row of nothing but −∞ any finite shift leaves every exponential 0, where −∞ itself would make them NaN.
  for (int64_t i = 0; i < rows; ++i) {
    const float largest = largest_of(at<From>(x, begin + i), cols);
    factor[i] = largest == -infinity ? 0.0f : largest;
  }
  for (int64_t i = 0; i < rows; ++i) {
    const float sum = exponentials(at<From>(x, begin + i), cols, factor[i], powers + i * cols);
    factor[i] = sum == 0.0f ? 0.0f : 1.0f / sum;
  }
  for (int64_t i = 0; i < rows; ++i) {
    To* out = at<To>(y, begin + i);
    const float* row = powers + i * cols;
    const FloatVec inverse = hn::Set(Floats(), factor[i]);
    for_lanes(cols,
              [&](int64_t c, auto part) HWY_ATTR { store(hn::Mul(load(row + c, part), inverse), out + c, part); });
  }
}

void softmax_forward_rows(const ConstMatrix& x, const MutableMatrix& y, int64_t begin, int64_t end) {
  const int64_t group = group_rows(x.cols);
  float* powers = scratch_floats(ScratchUse::row, group * x.cols);
  with_elements(x.dtype, y.dtype, [&](auto from, auto to) HWY_ATTR {
    for (int64_t r = begin; r < end; r += group) {
      softmax_group<decltype(from), decltype(to)>(x, y, r, std::min(group, end - r), powers);
    }
  });
}

template <typename Y, typename DY, typename DX>
HWY_INLINE void softmax_backward_row(const Y* y, const DY* dy, DX* dx, int64_t cols) {
  const float dot =
      sum_lanes(cols, [&](int64_t c, auto part) HWY_ATTR { return hn::Mul(load(dy + c, part), load(y + c, part)); });
  const FloatVec dots = hn::Set(Floats(), dot);
  for_lanes(cols, [&](int64_t c, auto part)
                      HWY_ATTR { store(hn::Mul(load(y + c, part), hn::Sub(load(dy + c, part), dots)), dx + c, part); });
}

void softmax_backward_rows(const ConstMatrix& y, const ConstMatrix& dy, const MutableMatrix& dx, int64_t begin,
                           int64_t end) {
  with_elements(y.dtype, dy.dtype, [&](auto y_element, auto dy_element) HWY_ATTR {
    with_element(dx.dtype, [&](auto dx_element) HWY_ATTR {
      for (int64_t r = begin; r < end; ++r) {
        softmax_backward_row(at<decltype(y_element)>(y, r), at<decltype(dy_element)>(dy, r),
                             at<decltype(dx_element)>(dx, r), y.cols);
      }
    });
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(softmax_forward_rows);
HWY_EXPORT(softmax_backward_rows);

namespace {

// Elements for which a thread is worth starting: some ten microseconds of work.
constexpr int64_t grain_elements = 16384;

}  // namespace

void softmax_forward(ConstMatrix x, MutableMatrix y) {
  check_matrix("softmax_forward", "x", x);
  check_matrix("softmax_forward", "y", y, x);
  if (x.cols == 0) return;
  parallel_for(x.rows, row_grain(grain_elements, x.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(softmax_forward_rows)(x, y, begin, end);
  });
}

void softmax_backward(ConstMatrix y, ConstMatrix dy, MutableMatrix dx) {
  check_matrix("softmax_backward", "y", y);
  check_matrix("softmax_backward", "dy", dy, y);
  check_matrix("softmax_backward", "dx", dx, y);
  if (y.cols == 0) return;
  parallel_for(y.rows, row_grain(grain_elements, y.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(softmax_backward_rows)(y, dy, dx, begin, end);
  });
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
