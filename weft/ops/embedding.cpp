#include "weft/ops/embedding.h"

#include <array>

#include "weft/base/error.h"
#include "weft/kernels/embedding.h"

namespace weft::ops {

namespace {

Shape with_width(const Shape& ids, int64_t d) {
  std::array<int64_t, Shape::max_rank> sizes{};
  require(ids.rank() < Shape::max_rank, "embedding: ids of at most {} dimensions, got {}", Shape::max_rank - 1, ids);
  std::copy(ids.begin(), ids.end(), sizes.begin());
  sizes[static_cast<size_t>(ids.rank())] = d;
  return Shape(std::span<const int64_t>(sizes.data(), static_cast<size_t>(ids.rank() + 1)));
}

// d_table[ids[r]] += scale · dropout(dy[r]).
void scatter(BackwardPass& pass, const GradientEdge& edge, const Shape& table, const Tensor& dy, const Tensor& ids,
             float scale, const kernels::Dropout& dropout) {
  if (!edge.wanted()) return;
  GradientTarget target = pass.target(edge, table, DType::f32);
  if (!target.accumulate) target.tensor.fill_zero();
  kernels::embedding_backward(matrix_view(dy), ids.data<int32_t>(), scale, dropout, matrix_view(target.tensor));
}

}  // namespace

Variable embedding(Context& ctx, const Variable& table, const Tensor& ids, const Variable& positions,
                   const Tensor& position_ids, const EmbeddingOptions& options) {
  require(table.defined() && table.value().rank() == 2, "embedding: the table is a matrix (v, d)");
  require(!positions.defined() || (positions.value().rank() == 2 && positions.dim(1) == table.dim(1)),
          "embedding: positions are ({}) wide as the table, got {}", table.dim(1),
          positions.defined() ? positions.shape() : Shape{});
  require(!positions.defined() || (position_ids.defined() && position_ids.shape() == ids.shape()),
          "embedding: one position id per id {}", ids.shape());
  kernels::Dropout dropout;
  if (ctx.training && options.dropout > 0.0) dropout = {static_cast<float>(options.dropout), ctx.next_site()};

  Tensor y = Tensor::empty(with_width(ids.shape(), table.dim(1)));
  kernels::ConstMatrix position_rows;
  if (positions.defined()) position_rows = matrix_view(positions.value());
  kernels::embedding_forward(matrix_view(table.value()), ids.data<int32_t>(), options.scale, position_rows,
                             positions.defined() ? position_ids.data<int32_t>() : nullptr, dropout, matrix_view(y));
  return record(ctx, "embedding", {&table, &positions}, std::move(y),
                [table = table.edge(), table_shape = table.shape(), ids, positions = positions.edge(),
                 positions_shape = positions.defined() ? positions.shape() : Shape{}, position_ids,
                 scale = options.scale, dropout](BackwardPass& pass, const Tensor& dy) {
                  scatter(pass, table, table_shape, dy, ids, scale, dropout);
                  scatter(pass, positions, positions_shape, dy, position_ids, 1.0f, dropout);
                });
}

Variable select_rows(Context& ctx, const Variable& x, const Tensor& rows) {
  require(x.defined() && x.value().rank() == 2, "select_rows: expected (n, d)");
  require(rows.rank() == 1, "select_rows: expected a list of row numbers, got {}", rows.shape());
  Tensor y = Tensor::empty({rows.dim(0), x.dim(1)}, x.dtype());
  kernels::embedding_forward(matrix_view(x.value()), rows.data<int32_t>(), 1.0f, {}, nullptr, {}, matrix_view(y));
  return record(ctx, "select_rows", {&x}, std::move(y),
                [edge = x.edge(), shape = x.shape(), dtype = x.dtype(), rows](BackwardPass& pass, const Tensor& dy) {
                  Tensor dx = Tensor::zeros(shape);
                  kernels::embedding_backward(matrix_view(dy), rows.data<int32_t>(), 1.0f, {}, matrix_view(dx));
                  pass.add(edge, dx.to(dtype));
                });
}

}  // namespace weft::ops
