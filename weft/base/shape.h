#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace weft {

// The sizes of a dense array, outermost first; at most six dimensions, held without allocation.
class Shape {
 public:
  static constexpr int max_rank = 6;

  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes);
  explicit Shape(std::span<const int64_t> sizes);

  int rank() const { return rank_; }
  // Size of one dimension; negative indices count from the last.
  int64_t operator[](int dimension) const;
  int64_t numel() const;
  const int64_t* begin() const { return sizes_.data(); }
  const int64_t* end() const { return sizes_.data() + rank_; }
  // The same shape with its last dimension replaced.
  Shape with_last(int64_t size) const;
  bool operator==(const Shape& other) const;
  std::string to_string() const;  // "(2, 3)"

 private:
  std::array<int64_t, max_rank> sizes_{};
  int rank_ = 0;
};

}  // namespace weft

template <>
struct fmt::formatter<weft::Shape> : fmt::formatter<std::string> {
  template <typename C>
  auto format(const weft::Shape& shape, C& context) const {
    return fmt::formatter<std::string>::format(shape.to_string(), context);
  }
};
