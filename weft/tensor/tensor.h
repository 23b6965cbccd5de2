#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "weft/base/dtype.h"
#include "weft/base/shape.h"
#include "weft/kernels/view.h"
#include "weft/tensor/allocator.h"

namespace weft {

// A dense array of numbers: a shape, a stride per dimension, and shared memory. Copying a Tensor shares the memory (as
// a shared_ptr does); clone() copies the numbers. A default-made Tensor is empty: defined() is false.
class Tensor {
 public:
  Tensor() = default;

  static Tensor empty(const Shape& shape, DType dtype = DType::f32);  // uninitialised
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32);
  static Tensor full(const Shape& shape, float value, DType dtype = DType::f32);  // f32 or bf16
  static Tensor scalar(float value) { return full({}, value); }
  template <typename T>
  static Tensor from(std::span<const T> values, const Shape& shape);
  // A tensor over memory that `owner` keeps alive, such as a mapped file; contiguous, aligned for its type.
  static Tensor over(std::shared_ptr<const std::byte> owner, const Shape& shape, DType dtype);

  bool defined() const { return memory_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int dimension) const { return shape_[dimension]; }
  int64_t numel() const { return shape_.numel(); }
  int64_t stride(int dimension) const;  // in elements
  int64_t bytes() const { return numel() * static_cast<int64_t>(size_of(dtype_)); }
  bool is_contiguous() const;
  // Whether this is the only handle to its memory: then writing into it surprises nobody.
  bool is_sole_owner() const { return memory_.use_count() == 1; }

  // First element. weft::Error if T is not the element type.
  template <typename T>
  const T* data() const {
    require_dtype(dtype_of<T>());
    return reinterpret_cast<const T*>(memory_.get());
  }
  template <typename T>
  T* data() {
    require_dtype(dtype_of<T>());
    return reinterpret_cast<T*>(memory_.get());
  }
  const std::byte* raw() const { return memory_.get(); }
  std::byte* raw() { return memory_.get(); }
  // All elements of a contiguous tensor.
  template <typename T>
  std::span<const T> span() const {
    require_contiguous();
    return {data<T>(), static_cast<size_t>(numel())};
  }
  template <typename T>
  std::span<T> span() {
    require_contiguous();
    return {data<T>(), static_cast<size_t>(numel())};
  }
  float item() const;  // the one element of an f32 tensor of one element

  // Views: they share the memory.
  Tensor reshape(const Shape& shape) const;  // contiguous tensors only; same number of elements
  Tensor slice(int dimension, int64_t begin, int64_t end) const;

  Tensor clone() const;          // contiguous copy
  Tensor contiguous() const;     // itself if contiguous, else a copy
  Tensor to(DType dtype) const;  // f32, bf16, f16 → f32 or bf16; itself if it has that type
  void fill_zero();

 private:
  void require_dtype(DType expected) const;
  void require_contiguous() const;

  std::shared_ptr<std::byte> memory_;
  Shape shape_;
  std::array<int64_t, Shape::max_rank> strides_{};
  DType dtype_ = DType::f32;
};

// The tensor as a matrix (all dimensions but the last, last): what most kernels take. The leading dimensions must lie
// evenly spaced and the last dense. A vector is one row, a scalar a 1 × 1 matrix.
kernels::ConstMatrix matrix_view(const Tensor& tensor);
kernels::MutableMatrix matrix_view(Tensor& tensor);
// A (tokens, heads · head_dim) tensor, or a column slice of one, seen per head.
kernels::ConstHeads heads_view(const Tensor& tensor, int64_t head_dim);
kernels::MutableHeads heads_view(Tensor& tensor, int64_t head_dim);

}  // namespace weft
