#include "weft/kernels/matmul.h"

#include <cstddef>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/threads.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/onednn/packed.h"
#include "weft/kernels/onednn/problem.h"
#include "weft/kernels/simd/matrix.h"

namespace weft::kernels {

namespace {

using onednn::Bf16Products;
using onednn::OperandLayout;
using onednn::Problem;

Bf16Products bf16_products() { return onednn::multiplies_bf16() ? Bf16Products::native : Bf16Products::widened; }

int64_t rows_of(const ConstMatrix& m, Transpose transpose) { return transpose == Transpose::yes ? m.cols : m.rows; }
int64_t cols_of(const ConstMatrix& m, Transpose transpose) { return transpose == Transpose::yes ? m.rows : m.cols; }

// The stride of a single stored row means nothing: leaving it out makes one shape of many.
OperandLayout layout_of(const ConstMatrix& m, Transpose transpose, int64_t batch_stride = 0) {
  const int64_t stride = m.rows <= 1 ? m.cols : m.stride;
  if (transpose == Transpose::yes) return {m.dtype, batch_stride, 1, stride};
  return {m.dtype, batch_stride, stride, 1};
}

void check_sizes(int64_t a_cols, int64_t b_rows, int64_t m, int64_t n, const ConstMatrix& c) {
  require(a_cols == b_rows, "matmul: the inner sizes differ: op(a) is ({}, {}), op(b) is ({}, {})", m, a_cols, b_rows,
          n);
  check_matrix("matmul", "c", c);
  require(c.rows == m && c.cols == n, "matmul: c must be ({}, {}), got ({}, {})", m, n, c.rows, c.cols);
}

void check_epilogue(const MatmulEpilogue& epilogue, const ConstMatrix& c) {
  const bool has_residual = epilogue.residual.data != nullptr;
  require(!epilogue.accumulate || (!has_residual && epilogue.activation == Activation::none),
          "matmul: accumulate goes with neither an activation nor a residual; add them in a second call");
  check_optional_matrix("matmul", "residual", epilogue.residual, c);
}

MutableMatrix item_of(const MutableMatrix& m, int64_t offset) {
  MutableMatrix item = m;
  item.data = static_cast<std::byte*>(m.data) + offset * static_cast<int64_t>(size_of(m.dtype));
  return item;
}

// The sum of nothing: what the epilogue makes of zeros, for k = 0.
void epilogue_of_zeros(const MutableMatrix& c, const MatmulEpilogue& epilogue) {
  std::vector<float> values(static_cast<size_t>(c.cols), 0.0f);
  if (epilogue.bias != nullptr) values.assign(epilogue.bias, epilogue.bias + c.cols);
  const MutableMatrix row{values.data(), DType::f32, 1, c.cols, c.cols};
  if (epilogue.activation != Activation::none) activation_forward(epilogue.activation, row, row);
  for (int64_t r = 0; r < c.rows; ++r) {
    const auto row_of = [r](const ConstMatrix& m) {
      const int64_t offset = r * m.stride * static_cast<int64_t>(size_of(m.dtype));
      return ConstMatrix{static_cast<const std::byte*>(m.data) + offset, m.dtype, 1, m.cols, m.cols};
    };
    const ConstMatrix place = row_of(c);
    const MutableMatrix out{const_cast<void*>(place.data), c.dtype, 1, c.cols, c.cols};
    if (epilogue.accumulate) {
      accumulate(row, out);
    } else if (epilogue.residual.data != nullptr) {
      add_dropout(row_of(epilogue.residual), row, {}, out);
    } else {
      convert(row, out);
    }
  }
}

Problem make_problem(const ConstMatrix& a, Transpose transpose_a, int64_t n, const MutableMatrix& c,
                     const MatmulEpilogue& epilogue) {
  Problem problem;
  onednn::ProductShape& shape = problem.shape;
  shape.m = rows_of(a, transpose_a);
  shape.k = cols_of(a, transpose_a);
  shape.n = n;
  shape.a = layout_of(a, transpose_a);
  shape.c = layout_of(c, Transpose::no);
  shape.has_bias = epilogue.bias != nullptr;
  shape.activation = epilogue.activation;
  shape.accumulate = epilogue.accumulate;
  shape.threads = thread_count();
  problem.data.a = a.data;
  problem.data.c = c.data;
  problem.data.bias = epilogue.bias;
  if (epilogue.residual.data == nullptr) return problem;

  const OperandLayout residual = layout_of(epilogue.residual, Transpose::no);
  if (epilogue.residual.data == c.data && residual == shape.c && epilogue.activation == Activation::none) {
    shape.accumulate = true;
    return problem;
  }
  shape.has_residual = true;
  shape.residual = residual;
  problem.data.residual = epilogue.residual.data;
  problem.residual_is_c = epilogue.residual.data == c.data;
  return problem;
}

}  // namespace

void matmul(ConstMatrix a, Transpose transpose_a, ConstMatrix b, Transpose transpose_b, MutableMatrix c,
            const MatmulEpilogue& epilogue) {
  check_matrix("matmul", "a", a);
  check_matrix("matmul", "b", b);
  require(a.dtype == b.dtype, "matmul: a is {} and b is {}; convert one of them", name_of(a.dtype), name_of(b.dtype));
  const int64_t n = cols_of(b, transpose_b);
  check_sizes(cols_of(a, transpose_a), rows_of(b, transpose_b), rows_of(a, transpose_a), n, c);
  check_epilogue(epilogue, c);
  if (c.rows == 0 || c.cols == 0) return;
  Problem problem = make_problem(a, transpose_a, n, c, epilogue);
  if (problem.shape.k == 0) return epilogue_of_zeros(c, epilogue);
  problem.shape.b = layout_of(b, transpose_b);
  problem.data.b = b.data;
  onednn::solve(problem, bf16_products());
}

void matmul(ConstMatrix a, const PackedMatrix& b, MutableMatrix c, const MatmulEpilogue& epilogue) {
  check_matrix("matmul", "a", a);
  require(!b.empty(), "matmul: b has not been packed; call pack() first");
  require(a.dtype == b.dtype(), "matmul: a is {} and the packed b is {}; convert a or pack b as {}", name_of(a.dtype),
          name_of(b.dtype()), name_of(a.dtype));
  check_sizes(a.cols, b.k(), a.rows, b.n(), c);
  check_epilogue(epilogue, c);
  if (c.rows == 0 || c.cols == 0) return;
  Problem problem = make_problem(a, Transpose::no, b.n(), c, epilogue);
  if (problem.shape.k == 0) return epilogue_of_zeros(c, epilogue);
  problem.shape.b_packed = true;
  problem.shape.b = {b.layout().stored, 0, 0, 0};
  problem.data.packed_b = b.layout().memory.get();
  onednn::solve(problem, bf16_products());
}

void batched_matmul(const BatchStrides& batch, ConstMatrix a, Transpose transpose_a, ConstMatrix b,
                    Transpose transpose_b, MutableMatrix c, bool accumulate) {
  require(batch.count >= 0, "batched_matmul: expected a count ≥ 0, got {}", batch.count);
  if (batch.count == 0) return;
  check_matrix("batched_matmul", "a", a);
  check_matrix("batched_matmul", "b", b);
  require(a.dtype == b.dtype, "matmul: a is {} and b is {}; convert one of them", name_of(a.dtype), name_of(b.dtype));
  const int64_t n = cols_of(b, transpose_b);
  check_sizes(cols_of(a, transpose_a), rows_of(b, transpose_b), rows_of(a, transpose_a), n, c);
  require(batch.a >= 0 && batch.b >= 0 && batch.c >= 0, "batched_matmul: expected batch strides ≥ 0, got {}, {}, {}",
          batch.a, batch.b, batch.c);
  if (c.rows == 0 || c.cols == 0) return;
  require(batch.count <= 1 || batch.c > 0, "batched_matmul: {} products would be written to one place", batch.count);
  MatmulEpilogue epilogue;
  epilogue.accumulate = accumulate;
  if (a.rows == 0 || a.cols == 0) {
    for (int64_t i = 0; i < batch.count; ++i) epilogue_of_zeros(item_of(c, i * batch.c), epilogue);
    return;
  }
  Problem problem = make_problem(a, transpose_a, n, c, epilogue);
  problem.shape.b = layout_of(b, transpose_b);
  problem.data.b = b.data;
  problem.shape.batch = batch.count;
  if (batch.count > 1) {
    problem.shape.a.batch = batch.a;
    problem.shape.b.batch = batch.b;
    problem.shape.c.batch = batch.c;
  }
  onednn::solve(problem, bf16_products());
}

int64_t matmul_cache_size() { return onednn::product_cache_size(); }

}  // namespace weft::kernels
