#include "weft/kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/threads.h"
#include "weft/kernels/simd/matrix.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/cross_entropy.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/simd/lanes-inl.h"
#include "weft/kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

// Logits are read from memory once, in tiles that stay in first-level cache for the second look; the running sum of
// exponentials is rescaled when a tile brings a larger logit (Milakov and Gimelshein 2018).
constexpr int64_t tile = 2048;

struct RowSums {
  float max = std::numeric_limits<float>::lowest();  // finite: −∞ − max stays −∞ while only −∞ has been seen
  double exponentials = 0.0;                         // Σ e^(x − max)
  double logits = 0.0;                               // Σ x, only if asked for
};

template <typename T>
HWY_INLINE FloatVec max_of_tile(const T* x, int64_t count, float start) {
  FloatVec max = hn::Set(Floats(), start);
  for_lanes(count,
            [&](int64_t i, auto part) HWY_ATTR { max = hn::Max(max, keep_lanes(load(x + i, part), max, part)); });
  return max;
}

// Leaves e^(x − max) of the last tile in `exponentials` (tile elements).
template <typename T>
RowSums sum_row(const T* x, int64_t v, bool with_logits, float* exponentials) {
  const Floats d;
  RowSums sums;
  for (int64_t begin = 0; begin < v; begin += tile) {
    const int64_t count = std::min(tile, v - begin);
    const float max = max_of(max_of_tile(x + begin, count, sums.max));
    if (max != sums.max) sums.exponentials *= std::exp(static_cast<double>(sums.max) - max);
    sums.max = max;
    const FloatVec shift = hn::Set(d, max);
    FloatVec sum = hn::Zero(d), logits = hn::Zero(d);
    for_lanes(count, [&](int64_t i, auto part) HWY_ATTR {
      const FloatVec value = load(x + begin + i, part);
      const FloatVec e = keep_lanes(exp_nonpositive(d, hn::Sub(value, shift)), hn::Zero(d), part);
      store(e, exponentials + i, part);
      sum = hn::Add(sum, e);
      logits = hn::Add(logits, value);
    });
    sums.exponentials += sum_of(sum);
    if (with_logits) sums.logits += sum_of(logits);
  }
  return sums;
}

template <typename T>
bool is_first_largest(const T* x, int32_t target, float max) {
  if (static_cast<float>(x[target]) != max) return false;
  const Floats d;
  const FloatVec zero = hn::Zero(d), one = hn::Set(d, 1.0f), wanted = hn::Set(d, max);
  FloatVec found = zero;
  for_lanes(target, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVec equal = hn::IfThenElseZero(hn::Eq(load(x + i, part), wanted), one);
    found = hn::Max(found, keep_lanes(equal, zero, part));
  });
  return max_of(found) == 0.0f;
}

float row_loss(const RowSums& sums, float target_logit, float smoothing, int64_t v) {
  const double log_sum = sums.max + std::log(sums.exponentials);
  if (smoothing == 0.0f) return static_cast<float>(log_sum - target_logit);
  const double mean = log_sum - sums.logits / static_cast<double>(v);
  return static_cast<float>((1.0 - smoothing) * (log_sum - target_logit) + smoothing * mean);
}

template <typename T>
void forward_typed(const CrossEntropyRows& p, float* losses, uint8_t* correct, int64_t begin, int64_t end) {
  HWY_ALIGN float exponentials[tile];
  const int64_t v = p.logits.cols;
  for (int64_t r = begin; r < end; ++r) {
    const int32_t target = p.targets[r];
    losses[r] = 0.0f;
    if (correct) correct[r] = 0;
    if (target == p.ignore_id) continue;
    const T* x = at<T>(p.logits, r);
    const RowSums sums = sum_row(x, v, p.label_smoothing != 0.0f, exponentials);
    losses[r] = row_loss(sums, x[target], p.label_smoothing, v);
    if (correct) correct[r] = !std::isnan(losses[r]) && is_first_largest(x, target, sums.max);
  }
}

// The constants of one row's gradient factor · e^(x − max) − uniform, less `hit` at the target.
struct GradientRow {
  float factor;
  float uniform;
  float hit;
};

template <typename T, typename U>
void write_gradient(const T* x, int64_t v, const RowSums& sums, const GradientRow& g, const float* exponentials,
                    U* dx) {
  const Floats d;
  const FloatVec factor = hn::Set(d, g.factor), uniform = hn::Set(d, g.uniform);
  if (v <= tile) {
    for_lanes(v, [&](int64_t i, auto part)
                     HWY_ATTR { store(hn::MulSub(load(exponentials + i, part), factor, uniform), dx + i, part); });
    return;
  }
  const FloatVec shift = hn::Set(d, sums.max);
  for_lanes(v, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVec e = exp_nonpositive(d, hn::Sub(load(x + i, part), shift));
    store(hn::MulSub(e, factor, uniform), dx + i, part);
  });
}

template <typename T, typename U>
void backward_typed(const CrossEntropyRows& p, float scale, const MutableMatrix& d_logits, float* losses, int64_t begin,
                    int64_t end) {
  HWY_ALIGN float exponentials[tile];
  const int64_t v = p.logits.cols;
  for (int64_t r = begin; r < end; ++r) {
    const int32_t target = p.targets[r];
    const T* x = at<T>(p.logits, r);
    U* dx = at<U>(d_logits, r);
    if (target == p.ignore_id) {
      std::fill(dx, dx + v, U(0.0f));
      if (losses) losses[r] = 0.0f;
      continue;
    }
    const RowSums sums = sum_row(x, v, losses && p.label_smoothing != 0.0f, exponentials);
    const float target_logit = x[target];
    if (losses) losses[r] = row_loss(sums, target_logit, p.label_smoothing, v);
    const GradientRow g{static_cast<float>(scale / sums.exponentials),
                        scale * p.label_smoothing / static_cast<float>(v), scale * (1.0f - p.label_smoothing)};
    write_gradient(x, v, sums, g, exponentials, dx);
    // Computed anew rather than subtracted from dx, which may have been rounded to bf16.
    const double likelihood = std::exp(static_cast<double>(target_logit) - sums.max) / sums.exponentials;
    dx[target] = U(static_cast<float>(scale * likelihood - g.uniform - g.hit));
  }
}

void forward_rows(const CrossEntropyRows& p, float* losses, uint8_t* correct, int64_t begin, int64_t end) {
  with_element(p.logits.dtype, [&](auto element) { forward_typed<decltype(element)>(p, losses, correct, begin, end); });
}

void backward_rows(const CrossEntropyRows& p, float scale, const MutableMatrix& d_logits, float* losses, int64_t begin,
                   int64_t end) {
  with_elements(p.logits.dtype, d_logits.dtype, [&](auto in, auto out) {
    backward_typed<decltype(in), decltype(out)>(p, scale, d_logits, losses, begin, end);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(forward_rows);
HWY_EXPORT(backward_rows);

namespace {

void check_rows(const CrossEntropyRows& p) {
  check_matrix("cross_entropy", "logits", p.logits);
  require(p.label_smoothing >= 0.0f && p.label_smoothing <= 1.0f,
          "cross_entropy: expected label_smoothing in [0, 1], got {}", p.label_smoothing);
  for (int64_t r = 0; r < p.logits.rows; ++r) {
    const int32_t target = p.targets[r];
    require(target == p.ignore_id || (target >= 0 && target < p.logits.cols),
            "cross_entropy: target {} of row {} is not in [0, {}) and not the ignored id {}", target, r, p.logits.cols,
            p.ignore_id);
  }
}

// Logits for which a thread is worth starting.
constexpr int64_t grain_elements = 8192;

}  // namespace

void cross_entropy_forward(const CrossEntropyRows& rows, float* losses, uint8_t* correct) {
  check_rows(rows);
  parallel_for(rows.logits.rows, row_grain(grain_elements, rows.logits.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(forward_rows)(rows, losses, correct, begin, end);
  });
}

void cross_entropy_backward(const CrossEntropyRows& rows, float scale, MutableMatrix d_logits, float* losses) {
  check_rows(rows);
  check_matrix("cross_entropy", "d_logits", d_logits, rows.logits);
  require(d_logits.data == nullptr || d_logits.data != rows.logits.data ||
              (d_logits.dtype == rows.logits.dtype && d_logits.stride == rows.logits.stride),
          "cross_entropy: d_logits in place of logits must have their dtype {} and stride {}, got {} and {}",
          name_of(rows.logits.dtype), rows.logits.stride, name_of(d_logits.dtype), d_logits.stride);
  parallel_for(rows.logits.rows, row_grain(grain_elements, rows.logits.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(backward_rows)(rows, scale, d_logits, losses, begin, end);
  });
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
