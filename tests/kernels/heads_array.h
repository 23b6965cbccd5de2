#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "weft/base/dtype.h"
#include "weft/base/rng.h"
#include "weft/kernels/portable/attention.h"
#include "weft/kernels/view.h"

namespace weft::kernels {

// An array of heads with an odd token stride, so that rows are not aligned, and a value that nothing may overwrite.
template <typename T>
struct HeadsArray {
  HeadsArray(int64_t tokens, int64_t heads, int64_t dim)
      : tokens(tokens),
        heads(heads),
        dim(dim),
        stride(heads * dim + 5),
        data(static_cast<size_t>(tokens * stride), T(unused)) {}

  T& at(int64_t token, int64_t head, int64_t c) { return data[static_cast<size_t>(token * stride + head * dim + c)]; }
  T at(int64_t token, int64_t head, int64_t c) const {
    return data[static_cast<size_t>(token * stride + head * dim + c)];
  }
  void fill_normal(const Rng& rng) {
    uint64_t next = 0;
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t i = 0; i < heads * dim; ++i) at(t, 0, i) = T(rng.normal(next++));
    }
  }
  template <typename U>
  HeadsArray<U> to() const {
    HeadsArray<U> other(tokens, heads, dim);
    for (size_t i = 0; i < data.size(); ++i) other.data[i] = static_cast<U>(data[i]);
    return other;
  }
  // The elements alone, without what lies between the rows.
  std::vector<double> values() const {
    std::vector<double> all;
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t i = 0; i < heads * dim; ++i) all.push_back(static_cast<double>(at(t, 0, i)));
    }
    return all;
  }
  ConstHeads view() const { return {data.data(), dtype_of<T>(), stride, dim}; }
  MutableHeads view() { return {data.data(), dtype_of<T>(), stride, dim}; }
  portable::Heads<const T> oracle_view() const { return {data.data(), stride, dim}; }
  portable::Heads<T> oracle_view() { return {data.data(), stride, dim}; }

  static constexpr float unused = 77.0f;
  int64_t tokens, heads, dim, stride;
  std::vector<T> data;
};

// Largest difference over the largest expected value, at least 1; infinite if something is not a number.
template <typename A, typename B>
double relative_difference(const std::vector<A>& actual, const std::vector<B>& expected) {
  double largest = 1e-30, difference = actual.size() == expected.size() ? 0.0 : std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    const double a = static_cast<double>(actual[i]), b = static_cast<double>(expected[i]);
    if (a == b) continue;  // infinities
    if (std::isnan(a) || std::isinf(a)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(b));
    difference = std::max(difference, std::abs(a - b));
  }
  return difference / std::max(largest, 1.0);
}

}  // namespace weft::kernels
