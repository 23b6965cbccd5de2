#pragma once

#include <cstdint>

#include "weft/base/dtype.h"

namespace weft::kernels {

// Views are what kernels see of an array: a pointer, sizes and strides, in elements. They own nothing.

// A row-major matrix of run-time element type: element (r, c) at data[r · stride + c], stride ≥ cols.
struct ConstMatrix {
  const void* data = nullptr;
  DType dtype = DType::f32;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;
};

struct MutableMatrix {
  void* data = nullptr;
  DType dtype = DType::f32;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;

  operator ConstMatrix() const { return {data, dtype, rows, cols, stride}; }
};

// Vectors per head of a (tokens, heads · head_dim) array: token t, head h starts at data[t · token_stride + h ·
// head_stride].
struct ConstHeads {
  const void* data = nullptr;
  DType dtype = DType::f32;
  int64_t token_stride = 0;
  int64_t head_stride = 0;
};

struct MutableHeads {
  void* data = nullptr;
  DType dtype = DType::f32;
  int64_t token_stride = 0;
  int64_t head_stride = 0;

  operator ConstHeads() const { return {data, dtype, token_stride, head_stride}; }
};

}  // namespace weft::kernels
