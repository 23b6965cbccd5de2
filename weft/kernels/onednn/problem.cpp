#include "weft/kernels/onednn/problem.h"

#include <algorithm>

#include "weft/base/threads.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/onednn/memory.h"
#include "weft/kernels/onednn/transposed_left.h"

namespace weft::kernels::onednn {

namespace {

const void* advance(const void* data, DType dtype, int64_t elements) {
  return data == nullptr ? nullptr : static_cast<const std::byte*>(data) + elements * int64_t(size_of(dtype));
}
void* advance(void* data, DType dtype, int64_t elements) {
  return const_cast<void*>(advance(static_cast<const void*>(data), dtype, elements));
}

// Rows [begin, begin + count) of the result, of a single product.
Problem rows_of(const Problem& problem, int64_t begin, int64_t count) {
  Problem part = problem;
  const ProductShape& s = problem.shape;
  part.shape.m = count;
  part.data.a = advance(problem.data.a, s.a.dtype, begin * s.a.row);
  part.data.c = advance(problem.data.c, s.c.dtype, begin * s.c.row);
  part.data.residual = advance(problem.data.residual, s.residual.dtype, begin * s.residual.row);
  return part;
}

// Matrix number `index` of a batch.
Problem item_of(const Problem& problem, int64_t index) {
  Problem item = problem;
  const ProductShape& s = problem.shape;
  item.shape.batch = 1;
  item.shape.a.batch = item.shape.b.batch = item.shape.c.batch = 0;
  item.data.a = advance(problem.data.a, s.a.dtype, index * s.a.batch);
  item.data.b = advance(problem.data.b, s.b.dtype, index * s.b.batch);
  item.data.c = advance(problem.data.c, s.c.dtype, index * s.c.batch);
  return item;
}

// An operand (rows, cols), possibly stored transposed, copied without gaps in `dtype`; it stays transposed.
OperandLayout copy_dense(const void*& data, const OperandLayout& from, int64_t rows, int64_t cols, DType dtype,
                         Temporary place) {
  const bool transposed = from.col != 1;
  if (transposed) std::swap(rows, cols);
  void* memory = temporary(place, static_cast<size_t>(rows * cols) * size_of(dtype));
  convert({data, from.dtype, rows, cols, transposed ? from.col : from.row}, {memory, dtype, rows, cols, cols});
  data = memory;
  return transposed ? OperandLayout{dtype, 0, 1, cols} : OperandLayout{dtype, 0, cols, 1};
}

void widen(const Problem& problem) {
  Problem wide = problem;
  const ProductShape& s = problem.shape;
  wide.shape.a = copy_dense(wide.data.a, s.a, s.m, s.k, DType::f32, Temporary::left);
  if (!s.b_packed) wide.shape.b = copy_dense(wide.data.b, s.b, s.k, s.n, DType::f32, Temporary::right);
  wide.shape.b.dtype = DType::f32;
  solve(wide, Bf16Products::widened);
}

bool is_dense(const OperandLayout& layout, int64_t cols) { return layout.col == 1 && layout.row == cols; }

// The product with bias and activation goes to a dense f32 matrix that fits into the second-level cache, a second pass
// takes it to c. For what no generated code does: f32 operands with a bf16 result, packed operands with a strided
// result, and a residual whose rows lie otherwise than those of c, or in c itself behind an activation.
void solve_in_two_passes(const Problem& problem, Bf16Products bf16) {
  const ProductShape& s = problem.shape;
  constexpr int64_t elements = int64_t{1} << 19;
  const int64_t step = std::clamp(elements / s.n / 16 * 16, int64_t{16}, std::max(s.m, int64_t{16}));
  for (int64_t begin = 0; begin < s.m; begin += step) {
    const int64_t rows = std::min(step, s.m - begin);
    Problem part = rows_of(problem, begin, rows);
    const MutableMatrix c{part.data.c, s.c.dtype, rows, s.n, s.c.row};
    const ConstMatrix residual{part.data.residual, s.residual.dtype, rows, s.n, s.residual.row};
    const size_t bytes = static_cast<size_t>(rows * s.n) * sizeof(float);
    const MutableMatrix product{temporary(Temporary::result, bytes), DType::f32, rows, s.n, s.n};
    part.data.c = product.data;
    part.data.residual = nullptr;
    part.residual_is_c = false;
    part.shape.c = {DType::f32, 0, s.n, 1};
    part.shape.residual = {};
    part.shape.accumulate = part.shape.has_residual = false;
    solve(part, bf16);
    if (s.accumulate) {
      accumulate(product, c);
    } else if (s.has_residual) {
      add_dropout(residual, product, {}, c);
    } else {
      convert(product, c);
    }
  }
}

}  // namespace

void solve(const Problem& problem, Bf16Products bf16) {
  const ProductShape& s = problem.shape;
  const bool widened = s.a.dtype == DType::bf16 && bf16 == Bf16Products::widened;
  if (widened && s.batch == 1) return widen(problem);
  if (problem.residual_is_c) return solve_in_two_passes(problem, bf16);

  if (!widened && prefers_transposed_left(s)) return solve_transposed_left(problem);
  const auto product = widened ? nullptr : find_product(s);
  if (product && product->quality() == Product::Quality::fast) return product->run(problem.data);
  if (s.batch > 1) {
    return parallel_tasks(s.batch, [&](int64_t i) { solve(item_of(problem, i), bf16); });
  }
  const bool simple_result = s.c.dtype == DType::f32 && is_dense(s.c, s.n) && !s.accumulate && !s.has_residual;
  if (!simple_result) return solve_in_two_passes(problem, bf16);
  if (!is_dense(s.a, s.k)) {
    Problem dense = problem;
    dense.shape.a = copy_dense(dense.data.a, s.a, s.m, s.k, s.a.dtype, Temporary::left);
    if (dense.shape.a != s.a) return solve(dense, bf16);
  }
  product->run(problem.data);
}

}  // namespace weft::kernels::onednn
