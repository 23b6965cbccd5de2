#pragma once

#include <cstdint>
#include <memory>

#include "weft/kernels/activation.h"
#include "weft/kernels/view.h"

namespace weft::kernels {

enum class Transpose { no, yes };

// What happens to the product before it is stored: c = activation(a·b + bias) + residual, or c += a·b + bias with
// `accumulate` (then no activation and no residual).
struct MatmulEpilogue {
  const float* bias = nullptr;  // (n)
  Activation activation = Activation::none;
  ConstMatrix residual{};  // (m, n), f32 or bf16; data null: none
  bool accumulate = false;
};

// A weight matrix in the layout and element type that the product reads fastest. Made once per optimizer step
// (training) or once (inference), used by any number of products. Holds its own memory.
class PackedMatrix {
 public:
  PackedMatrix();
  PackedMatrix(PackedMatrix&&) noexcept;
  PackedMatrix& operator=(PackedMatrix&&) noexcept;
  ~PackedMatrix();

  // The right operand op(b) of shape (k, n), stored as `b` (k, n), or as (n, k) with Transpose::yes; f32 or bf16 in,
  // `dtype` (f32 or bf16) inside. Packing again into the same object reuses its memory.
  void pack(ConstMatrix b, Transpose transpose, DType dtype);

  bool empty() const;
  int64_t k() const;
  int64_t n() const;
  DType dtype() const;
  int64_t bytes() const;

  struct Layout;  // known to the library that multiplies
  const Layout& layout() const { return *layout_; }

 private:
  std::unique_ptr<Layout> layout_;
};

// c (m, n) = op(a) · op(b), epilogue as above; sums in f32. a and b are both f32 or both bf16, c is f32 or bf16. a
// stored (m, k), or (k, m) with Transpose::yes. Any size may be 0 (k = 0 gives the epilogue of zeros). weft::Error on
// sizes that do not fit.
void matmul(ConstMatrix a, Transpose transpose_a, ConstMatrix b, Transpose transpose_b, MutableMatrix c,
            const MatmulEpilogue& epilogue = {});

// The same with a packed right operand; a (m, k) has the element type of the packed matrix.
void matmul(ConstMatrix a, const PackedMatrix& b, MutableMatrix c, const MatmulEpilogue& epilogue = {});

// `count` independent products of one shape: matrix i of an operand starts i · batch_stride elements after its first.
struct BatchStrides {
  int64_t count = 1;
  int64_t a = 0;
  int64_t b = 0;
  int64_t c = 0;
};
void batched_matmul(const BatchStrides& batch, ConstMatrix a, Transpose transpose_a, ConstMatrix b,
                    Transpose transpose_b, MutableMatrix c, bool accumulate = false);

// Products whose code has been generated and kept, by shape: grows with the number of different shapes, not of calls;
// bounded.
int64_t matmul_cache_size();

}  // namespace weft::kernels
