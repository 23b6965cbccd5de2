#include "weft/ops/dropout.h"

#include "weft/base/error.h"
#include "weft/kernels/elementwise.h"

namespace weft::ops {

Variable dropout(Context& ctx, const Variable& x, double probability) {
  require(probability >= 0.0 && probability < 1.0, "dropout: probability {} is not in [0, 1)", probability);
  if (!ctx.training || probability == 0.0) return x;
  const kernels::Dropout dropout{static_cast<float>(probability), ctx.next_site()};
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  kernels::apply_dropout(matrix_view(x.value()), dropout, matrix_view(y));
  return record(ctx, "dropout", {&x}, std::move(y), [edge = x.edge(), dropout](BackwardPass& pass, const Tensor& dy) {
    Tensor dx = Tensor::empty(dy.shape(), dy.dtype());
    kernels::apply_dropout(matrix_view(dy), dropout, matrix_view(dx));
    pass.add(edge, dx);
  });
}

}  // namespace weft::ops
