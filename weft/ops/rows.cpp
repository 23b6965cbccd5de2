#include "weft/ops/rows.h"

#include "weft/base/error.h"
#include "weft/kernels/elementwise.h"

namespace weft::ops {

Variable rows(Context& ctx, const Variable& x, int64_t begin, int64_t end) {
  require(x.defined() && x.value().rank() >= 1 && begin >= 0 && begin <= end && end <= x.dim(0), "rows: [{}, {}) of {}",
          begin, end, x.defined() ? x.shape() : Shape{});
  return record(
      ctx, "rows", {&x}, x.value().slice(0, begin, end),
      [edge = x.edge(), shape = x.shape(), dtype = x.dtype(), begin, end](BackwardPass& pass, const Tensor& dy) {
        GradientTarget target = pass.target(edge, shape, dtype);
        if (!target.accumulate) target.tensor.fill_zero();
        Tensor part = target.tensor.slice(0, begin, end);
        kernels::accumulate(matrix_view(dy), matrix_view(part));
      });
}

}  // namespace weft::ops
