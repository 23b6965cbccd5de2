#include "weft/base/shape.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft {

Shape::Shape(std::initializer_list<int64_t> sizes) : Shape(std::span<const int64_t>(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const int64_t> sizes) : rank_(static_cast<int>(sizes.size())) {
  require(sizes.size() <= max_rank, "shape: at most {} dimensions, not {}", max_rank, sizes.size());
  for (int64_t size : sizes) require(size >= 0, "shape: sizes are not negative, got {}", size);
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
}

int64_t Shape::operator[](int dimension) const {
  const int index = dimension < 0 ? dimension + rank_ : dimension;
  require(index >= 0 && index < rank_, "shape: no dimension {} in {}", dimension, to_string());
  return sizes_[static_cast<size_t>(index)];
}

int64_t Shape::numel() const {
  int64_t count = 1;
  for (int64_t size : *this) {
    require(!__builtin_mul_overflow(count, size, &count), "shape: {} has more elements than fit 63 bits", to_string());
  }
  return count;
}

Shape Shape::with_last(int64_t size) const {
  require(rank_ > 0, "shape: a scalar has no last dimension");
  Shape result = *this;
  result.sizes_[static_cast<size_t>(rank_ - 1)] = size;
  return result;
}

bool Shape::operator==(const Shape& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

std::string Shape::to_string() const { return fmt::format("({})", fmt::join(begin(), end(), ", ")); }

}  // namespace weft
