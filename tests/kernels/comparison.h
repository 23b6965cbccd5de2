#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/base/rng.h"
#include "weft/base/threads.h"

namespace weft::kernels {

inline std::vector<float> random_floats(int64_t count, uint64_t seed, float scale = 1.0f) {
  std::vector<float> values(static_cast<size_t>(count));
  const Rng rng{seed, 0};
  for (size_t i = 0; i < values.size(); ++i) values[i] = scale * rng.normal(i);
  return values;
}

inline std::vector<double> widen(const std::vector<float>& x) { return {x.begin(), x.end()}; }

// Largest |a − b| over the largest |b| (at least 1e-3, so that rounding noise around zero does not count). Elements
// that are not finite must be equal, or NaN in both.
inline double relative_error(std::span<const double> a, std::span<const double> b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 1e-3, difference = 0.0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (std::isfinite(a[i]) && std::isfinite(b[i])) {
      largest = std::max(largest, std::abs(b[i]));
      difference = std::max(difference, std::abs(a[i] - b[i]));
    } else {
      EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << "element " << i << ": " << a[i];
    }
  }
  return difference / largest;
}

// Runs body() with `count` threads.
template <typename Body>
void with_threads(int count, const Body& body) {
  const int before = thread_count();
  set_thread_count(count);
  body();
  set_thread_count(before);
}

// ∂f/∂x[i] for every i, by central differences in double; f reads x.
template <typename F>
std::vector<double> numeric_gradient(std::vector<double>& x, const F& f, double step = 1e-5) {
  std::vector<double> gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double kept = x[i];
    x[i] = kept + step;
    const double above = f();
    x[i] = kept - step;
    const double below = f();
    x[i] = kept;
    gradient[i] = (above - below) / (2.0 * step);
  }
  return gradient;
}

}  // namespace weft::kernels
