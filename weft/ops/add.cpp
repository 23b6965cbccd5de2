#include "weft/ops/add.h"

#include "weft/base/error.h"
#include "weft/kernels/elementwise.h"

namespace weft::ops {

namespace {

void check(std::string_view name, const Variable& a, const Variable& b) {
  require(a.defined() && b.defined() && a.shape() == b.shape(), "{}: both operands have one shape, got {} and {}", name,
          a.defined() ? a.shape() : Shape{}, b.defined() ? b.shape() : Shape{});
}

}  // namespace

Variable add(Context& ctx, const Variable& a, const Variable& b, float scale) {
  check("add", a, b);
  Tensor sum = a.value().clone();
  kernels::accumulate(matrix_view(b.value()), matrix_view(sum), scale);
  return record(ctx, "add", {&a, &b}, std::move(sum),
                [a = a.edge(), b = b.edge(), dtype = b.dtype(), scale](BackwardPass& pass, const Tensor& dy) {
                  pass.add(a, dy);
                  if (!b.wanted()) return;
                  if (scale == 1.0f && dy.dtype() == dtype) return pass.add(b, dy);
                  Tensor db = Tensor::empty(dy.shape(), dtype);
                  kernels::convert(matrix_view(dy), matrix_view(db));
                  kernels::scale(matrix_view(db), scale);
                  pass.add(b, db);
                });
}

Variable add_dropout(Context& ctx, const Variable& x, const Variable& y, double probability) {
  check("add_dropout", x, y);
  kernels::Dropout dropout;
  if (ctx.training && probability > 0.0) dropout = {static_cast<float>(probability), ctx.next_site()};
  Tensor sum = Tensor::empty(x.shape(), x.dtype());
  kernels::add_dropout(matrix_view(x.value()), matrix_view(y.value()), dropout, matrix_view(sum));
  return record(ctx, "add_dropout", {&x, &y}, std::move(sum),
                [x = x.edge(), y = y.edge(), dtype = y.dtype(), dropout](BackwardPass& pass, const Tensor& dsum) {
                  pass.add(x, dsum);
                  if (!y.wanted()) return;
                  if (dropout.probability == 0.0f && dsum.dtype() == dtype) return pass.add(y, dsum);
                  Tensor dy = Tensor::empty(dsum.shape(), dtype);
                  kernels::apply_dropout(matrix_view(dsum), dropout, matrix_view(dy));
                  pass.add(y, dy);
                });
}

}  // namespace weft::ops
