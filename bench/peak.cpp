#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/peak.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace weft::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sixteen independent chains of multiply-adds. Returns the number of floating-point operations.
int64_t multiply_add_chains(int64_t steps, float* result) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, result[0]), term = hn::Set(d, result[1]);
  hn::Vec<decltype(d)> sums[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) sums[i] = hn::Add(term, hn::Set(d, result[i]));  // no two chains are the same
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 16
    for (auto& sum : sums) sum = hn::MulAdd(sum, factor, term);
  }
#pragma GCC unroll 16
  for (auto& sum : sums) hn::StoreU(hn::Add(sum, hn::LoadU(d, result)), d, result);
  return steps * 16 * 2 * static_cast<int64_t>(hn::Lanes(d));
}

}  // namespace HWY_NAMESPACE
}  // namespace weft::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <chrono>

#include "bench/peak.h"

namespace weft::bench {

HWY_EXPORT(multiply_add_chains);

double peak_flops() {
  static const double peak = [] {
    double best = 0.0;
    float result[64];
    for (int i = 0; i < 64; ++i) result[i] = 1.0f / static_cast<float>(i + 2);
    for (int run = 0; run < 200; ++run) {
      const auto start = std::chrono::steady_clock::now();
      const int64_t flops = HWY_DYNAMIC_DISPATCH(multiply_add_chains)(200000, result);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      best = std::max(best, static_cast<double>(flops) / seconds.count());
      result[0] = 0.5f, result[1] = 1.0f / 3.0f;
    }
    return best;
  }();
  return peak;
}

}  // namespace weft::bench
#endif
