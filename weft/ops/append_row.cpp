#include "weft/ops/append_row.h"

#include <cstring>

#include "weft/base/error.h"
#include "weft/kernels/elementwise.h"

namespace weft::ops {

Variable append_row(Context& ctx, const Variable& x, const Variable& row) {
  require(x.defined() && (x.value().rank() == 2 || x.value().rank() == 3), "append_row: x is ((b,) s, c), got {}",
          x.defined() ? x.shape() : Shape{});
  const bool batched = x.value().rank() == 3;
  const int64_t b = batched ? x.dim(0) : 1, s = x.dim(-2), c = x.dim(-1);
  require(!row.defined() || (row.value().numel() == c && row.dtype() == DType::f32),
          "append_row: the row has {} f32 numbers, got {} {}", c, row.defined() ? name_of(row.dtype()) : "",
          row.defined() ? row.shape() : Shape{});
  const Tensor rows = x.value().contiguous();
  const Tensor last = row.defined() ? row.value().contiguous().to(x.dtype()) : Tensor::zeros({c}, x.dtype());
  Tensor y = Tensor::empty(batched ? Shape{b, s + 1, c} : Shape{s + 1, c}, x.dtype());
  const auto bytes = static_cast<size_t>(last.bytes());
  for (int64_t i = 0; i < b; ++i) {
    std::byte* sequence = y.raw() + static_cast<size_t>(i * (s + 1)) * bytes;
    std::memcpy(sequence, rows.raw() + static_cast<size_t>(i * s) * bytes, static_cast<size_t>(s) * bytes);
    std::memcpy(sequence + static_cast<size_t>(s) * bytes, last.raw(), bytes);
  }
  return record(ctx, "append_row", {&x, &row}, std::move(y),
                [edge = x.edge(), row = row.edge(), row_shape = row.defined() ? row.shape() : Shape{}, s](
                    BackwardPass& pass, const Tensor& dy) {
                  const int tokens = dy.rank() - 2;
                  if (row.wanted()) {
                    const Tensor last = dy.slice(tokens, s, s + 1).contiguous();
                    GradientTarget target = pass.target(row, row_shape, DType::f32);
                    kernels::column_sums(matrix_view(last), target.tensor.data<float>(), target.accumulate);
                  }
                  pass.add(edge, dy.slice(tokens, 0, s).contiguous());
                });
}

}  // namespace weft::ops
