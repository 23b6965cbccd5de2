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

// A row becomes exponentials in `row` (first-level cache), then y. A NaN in x makes their sum NaN and so the whole row.
template <typename From, typename To>
HWY_INLINE void softmax_row(const From* x, To* y, int64_t cols, float* row) {
  float largest = largest_of(x, cols);
  // Nothing but −∞: any finite shift leaves every exponential 0, where −∞ itself would make them NaN.
  if (largest == -std::numeric_limits<float>::infinity()) largest = 0.0f;
  const FloatVec shift = hn::Set(Floats(), largest);
  const float sum = sum_lanes(cols, [&](int64_t c, auto part) HWY_ATTR {
    const FloatVec power = exp_nonpositive(Floats(), hn::Sub(load(x + c, part), shift));
    store(power, row + c, part);
    return power;
  });
  const FloatVec inverse = hn::Set(Floats(), sum == 0.0f ? 0.0f : 1.0f / sum);
  for_lanes(cols, [&](int64_t c, auto part) HWY_ATTR { store(hn::Mul(load(row + c, part), inverse), y + c, part); });
}

void softmax_forward_rows(const ConstMatrix& x, const MutableMatrix& y, int64_t begin, int64_t end) {
  float* row = scratch_floats(ScratchUse::row, x.cols);
  with_elements(x.dtype, y.dtype, [&](auto from, auto to) HWY_ATTR {
    for (int64_t r = begin; r < end; ++r) {
      softmax_row(at<decltype(from)>(x, r), at<decltype(to)>(y, r), x.cols, row);
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
