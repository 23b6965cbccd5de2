#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/rng.h"
#include "weft/tensor/tensor.h"

// What the programs of this folder share: tensors of the notes' kinds, printing them, and holding what came out against
// what the notes say.
namespace notes {

using weft::Shape;
using weft::Tensor;

// torch.randn, by seed.
inline Tensor randn(const Shape& shape, uint64_t seed = 1) {
  Tensor tensor = Tensor::empty(shape);
  const weft::Rng rng{seed, 0};
  uint64_t i = 0;
  for (float& x : tensor.span<float>()) x = rng.normal(i++);
  return tensor;
}

inline Tensor tensor_of(std::initializer_list<float> values, const Shape& shape) {
  return Tensor::from<float>({values.begin(), values.size()}, shape);
}
inline Tensor ids_of(std::initializer_list<int32_t> values, const Shape& shape) {
  return Tensor::from<int32_t>({values.begin(), values.size()}, shape);
}
// A boolean mask: 1 = true.
inline Tensor mask_of(std::initializer_list<uint8_t> values, const Shape& shape) {
  return Tensor::from<uint8_t>({values.begin(), values.size()}, shape);
}

inline void section(const char* title) { std::printf("\n== %s\n", title); }

// The name, the shape and the first matrix, at most 10 rows of 8 columns.
inline void print(const char* name, const Tensor& tensor) {
  std::printf("%s %s\n", name, tensor.shape().to_string().c_str());
  const int64_t cols = tensor.rank() == 0 ? 1 : tensor.dim(-1);
  const int64_t rows = tensor.rank() < 2 ? 1 : tensor.dim(-2);
  const Tensor dense = tensor.contiguous();
  for (int64_t r = 0; r < std::min<int64_t>(rows, 10); ++r) {
    for (int64_t c = 0; c < std::min<int64_t>(cols, 8); ++c) {
      std::printf("%9.4f", static_cast<double>(dense.data<float>()[r * cols + c]));
    }
    std::printf(cols > 8 ? " …\n" : "\n");
  }
  if (rows > 10) std::printf("        …\n");
}

inline std::string text_of(const Shape& shape) { return shape.to_string(); }
inline std::string text_of(const std::string& text) { return '"' + text + '"'; }
inline std::string text_of(const std::vector<int32_t>& ids) {
  std::string text = "[";
  for (const int32_t id : ids) text += (text.size() > 1 ? ", " : "") + std::to_string(id);
  return text + "]";
}

// Says whether `holds`; the program ends with status 1 if not.
inline void check(std::string_view what, bool holds) {
  std::printf("%-70s %s\n", std::string(what).c_str(), holds ? "ok" : "WRONG");
  if (!holds) std::exit(1);
}
// The numbers differ by no more than `tolerance`; a NaN equals nothing.
inline void check(std::string_view what, const Tensor& got, const Tensor& wanted, float tolerance = 1e-5f) {
  bool equal = got.shape() == wanted.shape();
  const Tensor a = got.contiguous(), b = wanted.contiguous();
  for (int64_t i = 0; equal && i < a.numel(); ++i) {
    equal = std::fabs(a.data<float>()[i] - b.data<float>()[i]) <= tolerance;
  }
  check(what, equal);
}
// Shapes, ids and texts.
template <typename T>
void check_equal(const char* what, const T& got, const T& wanted) {
  if (!(got == wanted)) std::printf("wanted %s\n", text_of(wanted).c_str());
  check(std::string(what) + ": " + text_of(got), got == wanted);
}

}  // namespace notes
