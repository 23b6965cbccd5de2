#pragma once

#include "weft/autograd/context.h"
#include "weft/kernels/rotary.h"

namespace weft::ops {

// Rotary positions (Su et al. 2021; layouts in kernels/rotary.h) on the first `heads` heads of every row of x (…, c),
// head_dim columns each; the other columns stay. position_ids i32, one per row. In a fused (queries | keys | values)
// row, heads + kv_heads heads turn.
Variable rotary(Context& ctx, const Variable& x, const kernels::Rotary& rotary, int64_t heads, int64_t head_dim,
                const Tensor& position_ids);

}  // namespace weft::ops
