#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "weft/base/error.h"
#include "weft/kernels/view.h"

namespace weft::kernels {

// Element (r, c), once the element type is known to be T.
template <typename T>
const T* at(const ConstMatrix& m, int64_t r, int64_t c = 0) {
  return static_cast<const T*>(m.data) + r * m.stride + c;
}
template <typename T>
T* at(const MutableMatrix& m, int64_t r, int64_t c = 0) {
  return static_cast<T*>(m.data) + r * m.stride + c;
}

// Whether the rows follow each other without a gap.
inline bool contiguous(const ConstMatrix& m) { return m.stride == m.cols || m.rows <= 1; }

// `count` elements of a row from column `col`. Matrices without gaps between their rows count as one long row 0.
struct Span {
  int64_t row = 0;
  int64_t col = 0;
  int64_t count = 0;
};

// Rows that one thread should at least get, when a thread is worth starting for `elements` elements.
inline int64_t row_grain(int64_t elements, int64_t cols) { return elements / std::max<int64_t>(cols, 1) + 1; }

// Rows that a kernel takes through its steps together: the reductions of one row then need not wait for those of the
// row before. As many as fit first-level cache in f32.
constexpr int64_t max_group_rows = 8;
inline int64_t group_rows(int64_t cols) {
  return std::clamp<int64_t>(4096 / std::max<int64_t>(cols, 1), 1, max_group_rows);
}

// The checks below throw weft::Error; `operation` and `name` are what the message calls operation and matrix.

// f32 or bf16, sizes not negative, stride ≥ cols, and data unless there is no element.
inline void check_matrix(std::string_view operation, std::string_view name, const ConstMatrix& m) {
  require(m.dtype == DType::f32 || m.dtype == DType::bf16, "{}: {} must be f32 or bf16, got {}", operation, name,
          name_of(m.dtype));
  require(m.rows >= 0 && m.cols >= 0, "{}: {} has the negative size ({}, {})", operation, name, m.rows, m.cols);
  require(m.stride >= m.cols || m.rows <= 1, "{}: {} has stride {}, less than its {} columns", operation, name,
          m.stride, m.cols);
  require(m.data != nullptr || m.rows == 0 || m.cols == 0, "{}: {} of size ({}, {}) has no data", operation, name,
          m.rows, m.cols);
}

// The same, and exactly the size of `like`.
inline void check_matrix(std::string_view operation, std::string_view name, const ConstMatrix& m,
                         const ConstMatrix& like) {
  check_matrix(operation, name, m);
  require(m.rows == like.rows && m.cols == like.cols, "{}: {} must be ({}, {}), got ({}, {})", operation, name,
          like.rows, like.cols, m.rows, m.cols);
}

// As above for a matrix that may be absent (data null).
inline void check_optional_matrix(std::string_view operation, std::string_view name, const ConstMatrix& m,
                                  const ConstMatrix& like) {
  if (m.data != nullptr) check_matrix(operation, name, m, like);
}

}  // namespace weft::kernels
