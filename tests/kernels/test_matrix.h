#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "weft/base/rng.h"
#include "weft/kernels/view.h"

namespace weft::kernels {

// A matrix of run-time element type with `gap` elements between its rows, for comparing kernels with their oracles.
class TestMatrix {
 public:
  TestMatrix(DType dtype, int64_t rows, int64_t cols, int64_t gap = 0)
      : dtype_(dtype),
        rows_(rows),
        cols_(cols),
        stride_(cols + gap),
        bytes_(size_of(dtype) * rows * (cols + gap), 0x5a) {}

  // Normal numbers times `scale`, rounded to the element type.
  static TestMatrix random(DType dtype, int64_t rows, int64_t cols, int64_t gap, uint64_t seed, float scale = 2.0f) {
    TestMatrix m(dtype, rows, cols, gap);
    const Rng rng{seed, 7};
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < cols; ++c) m.set(r, c, scale * rng.normal(static_cast<uint64_t>(r * cols + c)));
    }
    return m;
  }

  void set(int64_t r, int64_t c, float value) {
    if (dtype_ == DType::bf16) {
      reinterpret_cast<BFloat16*>(bytes_.data())[r * stride_ + c] = BFloat16(value);
    } else {
      reinterpret_cast<float*>(bytes_.data())[r * stride_ + c] = value;
    }
  }
  float get(int64_t r, int64_t c) const {
    const int64_t i = r * stride_ + c;
    return dtype_ == DType::bf16 ? static_cast<float>(reinterpret_cast<const BFloat16*>(bytes_.data())[i])
                                 : reinterpret_cast<const float*>(bytes_.data())[i];
  }

  ConstMatrix view() const { return {bytes_.data(), dtype_, rows_, cols_, stride_}; }
  MutableMatrix view() { return {bytes_.data(), dtype_, rows_, cols_, stride_}; }
  const std::vector<unsigned char>& bytes() const { return bytes_; }

  std::vector<double> dense() const {
    std::vector<double> values;
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t c = 0; c < cols_; ++c) values.push_back(get(r, c));
    }
    return values;
  }

  // Every element within `tolerance` · max(1, |expected|), plus half a unit of bf16 (2⁻⁸, rounded up) if that is what
  // it was stored in; NaN exactly where expected; gaps between rows untouched.
  void expect_near(const std::vector<double>& expected, double tolerance) const {
    if (dtype_ == DType::bf16) tolerance += 0x1.02p-8;
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t c = 0; c < cols_; ++c) {
        const double want = expected[static_cast<size_t>(r * cols_ + c)], got = get(r, c);
        const bool same = got == want || (std::isnan(got) && std::isnan(want));
        ASSERT_TRUE(same || std::abs(got - want) <= tolerance * std::max(1.0, std::abs(want)))
            << "element (" << r << ", " << c << "): got " << got << ", expected " << want;
      }
      const size_t size = size_of(dtype_);
      for (size_t i = (r * stride_ + cols_) * size; i < (r + 1) * stride_ * size; ++i) ASSERT_EQ(bytes_[i], 0x5a);
    }
  }

 private:
  DType dtype_;
  int64_t rows_;
  int64_t cols_;
  int64_t stride_;
  std::vector<unsigned char> bytes_;
};

// Runs `body` once with each instruction set that this processor has.
template <typename Body>
void for_each_target(const Body& body) {
  const int64_t supported = hwy::SupportedTargets();
  for (int64_t rest = supported; rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::GetChosenTarget().Update(target);
    body();
  }
  hwy::GetChosenTarget().Update(supported);
}

// The message of the exception that `body` throws; empty if none.
template <typename Body>
std::string message_of(const Body& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace weft::kernels
