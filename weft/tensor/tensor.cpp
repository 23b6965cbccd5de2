#include "weft/tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/base/error.h"
#include "weft/kernels/elementwise.h"

namespace weft {

namespace {

std::array<int64_t, Shape::max_rank> dense_strides(const Shape& shape) {
  std::array<int64_t, Shape::max_rank> strides{};
  int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = stride;
    require(!__builtin_mul_overflow(stride, shape[i], &stride), "tensor: {} has more elements than fit 63 bits", shape);
  }
  return strides;
}

// Rows and the distance between them when the leading dimensions are walked as one; −1 if they are not evenly spaced.
int64_t collapsed_stride(const Tensor& tensor) {
  if (tensor.rank() < 2) return tensor.numel();
  int64_t stride = -1;
  for (int i = tensor.rank() - 2; i >= 0; --i) {
    if (tensor.dim(i) == 1) continue;
    if (stride < 0) {
      stride = tensor.stride(i);
    } else if (tensor.stride(i) != stride) {
      return -1;
    }
    stride = tensor.stride(i) * tensor.dim(i);
  }
  for (int i = tensor.rank() - 2; i >= 0; --i) {
    if (tensor.dim(i) != 1) return tensor.stride(i);
  }
  return tensor.dim(-1);
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype) {
  Tensor result;
  result.shape_ = shape;
  result.dtype_ = dtype;
  result.strides_ = dense_strides(shape);
  int64_t bytes = 0;
  require(!__builtin_mul_overflow(shape.numel(), static_cast<int64_t>(size_of(dtype)), &bytes),
          "tensor: {} of {} does not fit the address space", shape, name_of(dtype));
  result.memory_ = allocate(bytes);
  return result;
}

Tensor Tensor::zeros(const Shape& shape, DType dtype) {
  Tensor result = empty(shape, dtype);
  result.fill_zero();
  return result;
}

Tensor Tensor::full(const Shape& shape, float value, DType dtype) {
  Tensor result = empty(shape, dtype);
  kernels::fill(matrix_view(result), value);
  return result;
}

template <typename T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape) {
  require(static_cast<int64_t>(values.size()) == shape.numel(), "tensor: {} values do not fill the shape {}",
          values.size(), shape);
  Tensor result = empty(shape, dtype_of<T>());
  std::copy(values.begin(), values.end(), result.template data<T>());
  return result;
}

template Tensor Tensor::from(std::span<const float>, const Shape&);
template Tensor Tensor::from(std::span<const int32_t>, const Shape&);
template Tensor Tensor::from(std::span<const int64_t>, const Shape&);
template Tensor Tensor::from(std::span<const uint8_t>, const Shape&);
template Tensor Tensor::from(std::span<const bool>, const Shape&);
template Tensor Tensor::from(std::span<const BFloat16>, const Shape&);

Tensor Tensor::over(std::shared_ptr<const std::byte> owner, const Shape& shape, DType dtype) {
  require(owner != nullptr, "tensor: no memory given for {}", shape);
  require(reinterpret_cast<uintptr_t>(owner.get()) % size_of(dtype) == 0, "tensor: memory is not aligned for {}",
          name_of(dtype));
  Tensor result;
  result.shape_ = shape;
  result.dtype_ = dtype;
  result.strides_ = dense_strides(shape);
  // The handle type is not const; who maps read-only memory hands it out behind const Tensors.
  result.memory_ = std::const_pointer_cast<std::byte>(std::move(owner));
  return result;
}

int64_t Tensor::stride(int dimension) const {
  const int index = dimension < 0 ? dimension + rank() : dimension;
  require(index >= 0 && index < rank(), "tensor: no dimension {} in {}", dimension, shape_);
  return strides_[static_cast<size_t>(index)];
}

bool Tensor::is_contiguous() const {
  const auto dense = dense_strides(shape_);
  for (int i = 0; i < rank(); ++i) {
    const auto index = static_cast<size_t>(i);
    if (shape_[i] > 1 && strides_[index] != dense[index]) return false;
  }
  return true;
}

float Tensor::item() const {
  require(numel() == 1, "tensor: item() needs one element, {} has {}", shape_, numel());
  return *data<float>();
}

Tensor Tensor::reshape(const Shape& shape) const {
  require(shape.numel() == numel(), "reshape: {} has {} elements, {} has {}", shape_, numel(), shape, shape.numel());
  require_contiguous();
  Tensor result = *this;
  result.shape_ = shape;
  result.strides_ = dense_strides(shape);
  return result;
}

Tensor Tensor::slice(int dimension, int64_t begin, int64_t end) const {
  const int index = dimension < 0 ? dimension + rank() : dimension;
  require(index >= 0 && index < rank(), "slice: no dimension {} in {}", dimension, shape_);
  require(0 <= begin && begin <= end && end <= shape_[index], "slice: [{}, {}) is not inside dimension {} of {}", begin,
          end, dimension, shape_);
  Tensor result = *this;
  std::array<int64_t, Shape::max_rank> sizes{};
  std::copy(shape_.begin(), shape_.end(), sizes.begin());
  sizes[static_cast<size_t>(index)] = end - begin;
  result.shape_ = Shape(std::span<const int64_t>(sizes.data(), static_cast<size_t>(rank())));
  const int64_t offset = begin * strides_[static_cast<size_t>(index)] * static_cast<int64_t>(size_of(dtype_));
  result.memory_ = {memory_, memory_.get() + offset};
  return result;
}

Tensor Tensor::clone() const {
  Tensor result = empty(shape_, dtype_);
  if (numel() == 0) return result;
  if (is_contiguous()) {
    std::memcpy(result.raw(), raw(), static_cast<size_t>(bytes()));
  } else {
    const int64_t outer = shape_[0];
    for (int64_t i = 0; i < outer; ++i) {
      Tensor part = slice(0, i, i + 1);
      const Shape inner(std::span<const int64_t>(shape_.begin() + 1, static_cast<size_t>(rank() - 1)));
      part.shape_ = inner;
      std::copy(strides_.begin() + 1, strides_.end(), part.strides_.begin());
      const Tensor dense = rank() == 1 ? part : part.contiguous();
      const size_t size = static_cast<size_t>(bytes() / outer);
      std::memcpy(result.raw() + static_cast<size_t>(i) * size, dense.raw(), size);
    }
  }
  return result;
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor result = empty(shape_, dtype);
  if (dtype_ == DType::f16) {
    require(dtype == DType::f32, "tensor: f16 converts to f32 only, not to {}", name_of(dtype));
    std::ranges::copy(span<Float16>(), result.data<float>());
    return result;
  }
  const Tensor dense = contiguous();
  kernels::convert(matrix_view(dense), matrix_view(result));
  return result;
}

void Tensor::fill_zero() {
  require_contiguous();
  std::memset(raw(), 0, static_cast<size_t>(bytes()));
}

void Tensor::require_dtype(DType expected) const {
  require(dtype_ == expected, "tensor: {} holds {}, not {}", shape_, name_of(dtype_), name_of(expected));
}

void Tensor::require_contiguous() const {
  require(is_contiguous(), "tensor: a view of shape {} with gaps between its elements; call contiguous() first",
          shape_);
}

kernels::ConstMatrix matrix_view(const Tensor& tensor) {
  require(tensor.defined(), "tensor: an empty tensor has no matrix view");
  const int64_t cols = tensor.rank() == 0 ? 1 : tensor.dim(-1);
  const int64_t stride = collapsed_stride(tensor);
  require(stride >= 0 && (tensor.rank() == 0 || cols <= 1 || tensor.stride(-1) == 1),
          "tensor: {} cannot be seen as a matrix; call contiguous() first", tensor.shape());
  const int64_t rows = cols == 0 ? 0 : tensor.numel() / cols;
  return {tensor.raw(), tensor.dtype(), rows, cols, std::max(stride, cols)};
}

kernels::MutableMatrix matrix_view(Tensor& tensor) {
  const kernels::ConstMatrix view = matrix_view(std::as_const(tensor));
  return {tensor.raw(), view.dtype, view.rows, view.cols, view.stride};
}

kernels::ConstHeads heads_view(const Tensor& tensor, int64_t head_dim) {
  const kernels::ConstMatrix view = matrix_view(tensor);
  return {view.data, view.dtype, view.stride, head_dim};
}

kernels::MutableHeads heads_view(Tensor& tensor, int64_t head_dim) {
  const kernels::MutableMatrix view = matrix_view(tensor);
  return {view.data, view.dtype, view.stride, head_dim};
}

}  // namespace weft
