#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "weft/tensor/tensor.h"

namespace weft::models {

inline Tensor ids_of(std::initializer_list<int32_t> values) {
  return Tensor::from<int32_t>({values.begin(), values.size()}, {static_cast<int64_t>(values.size())});
}

inline float largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.numel(), b.numel());
  float largest = 0.0f;
  for (int64_t i = 0; i < a.numel(); ++i) {
    largest = std::max(largest, std::abs(a.data<float>()[i] - b.data<float>()[i]));
  }
  return largest;
}

// Passes that take different ways to the same numbers differ by the order of sums only; logits, losses and gradients of
// the tests' models are of order 1 or less.
constexpr float kSame = 2e-5f;

}  // namespace weft::models
