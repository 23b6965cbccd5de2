#include "weft/ops/rotary.h"

#include "weft/base/error.h"

namespace weft::ops {

namespace {

Tensor turned(const Tensor& x, const kernels::Rotary& rotary, int64_t heads, int64_t head_dim,
              const Tensor& position_ids, bool inverse) {
  Tensor y = x.clone();
  kernels::rotary_apply(rotary, position_ids.data<int32_t>(), position_ids.numel(), heads, inverse,
                        heads_view(y, head_dim));
  return y;
}

}  // namespace

Variable rotary(Context& ctx, const Variable& x, const kernels::Rotary& rotary, int64_t heads, int64_t head_dim,
                const Tensor& position_ids) {
  require(x.defined() && x.value().rank() >= 2 && heads * head_dim <= x.dim(-1),
          "rotary: {} heads of {} do not fit rows of {}", heads, head_dim, x.defined() ? x.shape() : Shape{});
  require(position_ids.defined() && position_ids.numel() * x.dim(-1) == x.value().numel(),
          "rotary: one position id for each row of {}", x.shape());
  return record(ctx, "rotary", {&x}, turned(x.value(), rotary, heads, head_dim, position_ids, false),
                [edge = x.edge(), rotary, heads, head_dim, position_ids](BackwardPass& pass, const Tensor& dy) {
                  pass.add(edge, turned(dy, rotary, heads, head_dim, position_ids, true));
                });
}

}  // namespace weft::ops
