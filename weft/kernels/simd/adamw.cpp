#include "weft/kernels/adamw.h"

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"
#include "weft/base/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/adamw.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

// Elements [begin, end) of an item. What does not change within the loop is computed in double first.
void adamw_piece(const AdamWItem& item, const AdamWStep& step, int64_t begin, int64_t end) {
  const Floats f;
  const auto constant = [f](double value) HWY_ATTR { return hn::Set(f, static_cast<float>(value)); };
  const double steps = static_cast<double>(step.step);
  const FloatVec decay = constant(1.0 - step.learning_rate * static_cast<double>(item.weight_decay));
  const FloatVec rate = constant(step.learning_rate / (1.0 - std::pow(step.beta1, steps)));
  const FloatVec correction = constant(1.0 / std::sqrt(1.0 - std::pow(step.beta2, steps)));
  const FloatVec scale = constant(step.gradient_scale), epsilon = constant(step.epsilon);
  const FloatVec beta1 = constant(step.beta1), rest1 = constant(1.0 - step.beta1);
  const FloatVec beta2 = constant(step.beta2), rest2 = constant(1.0 - step.beta2);
  for_lanes(end - begin, [&](int64_t offset, auto part) HWY_ATTR {
    const int64_t i = begin + offset;
    const FloatVec g = hn::Mul(load(item.gradient + i, part), scale);
    const FloatVec m = hn::MulAdd(beta1, load(item.first_moment + i, part), hn::Mul(rest1, g));
    const FloatVec v = hn::MulAdd(beta2, load(item.second_moment + i, part), hn::Mul(hn::Mul(rest2, g), g));
    const FloatVec denominator = hn::MulAdd(hn::Sqrt(v), correction, epsilon);
    const FloatVec value = hn::Mul(load(item.value + i, part), decay);
    store(m, item.first_moment + i, part);
    store(v, item.second_moment + i, part);
    store(hn::NegMulAdd(rate, hn::Div(m, denominator), value), item.value + i, part);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(adamw_piece);

namespace {

// Items are shared among the threads in pieces of this many elements.
constexpr int64_t piece = 4096;

int64_t pieces_of(const AdamWItem& item) { return (item.count + piece - 1) / piece; }

void check(std::span<const AdamWItem> items, const AdamWStep& step) {
  require(step.step >= 1, "adamw: steps count from 1, got step {}", step.step);
  require(step.beta1 >= 0.0 && step.beta1 < 1.0, "adamw: beta1 must be in [0, 1), got {}", step.beta1);
  require(step.beta2 >= 0.0 && step.beta2 < 1.0, "adamw: beta2 must be in [0, 1), got {}", step.beta2);
  for (size_t i = 0; i < items.size(); ++i) {
    const AdamWItem& item = items[i];
    require(item.count >= 0, "adamw: item {} has the negative count {}", i, item.count);
    const bool complete = item.value && item.gradient && item.first_moment && item.second_moment;
    require(complete || item.count == 0, "adamw: item {} of {} elements lacks a buffer", i, item.count);
  }
}

}  // namespace

void adamw(std::span<const AdamWItem> items, const AdamWStep& step) {
  check(items, step);
  int64_t total = 0;
  for (const AdamWItem& item : items) total += pieces_of(item);
  constexpr int64_t grain = 8;
  parallel_for(total, grain, [&](int64_t begin, int64_t end) {
    for (const AdamWItem& item : items) {
      const int64_t pieces = pieces_of(item);
      const int64_t from = std::max<int64_t>(begin, 0) * piece;
      const int64_t to = std::min(std::min(end, pieces) * piece, item.count);
      if (from < to) HWY_DYNAMIC_DISPATCH(adamw_piece)(item, step, from, to);
      begin -= pieces;
      end -= pieces;
      if (end <= 0) break;
    }
  });
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
