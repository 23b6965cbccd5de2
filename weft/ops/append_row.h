#pragma once

#include "weft/autograd/context.h"

namespace weft::ops {

// x ((b,) s, c) with `row` (c numbers, f32) behind every sequence: ((b,) s + 1, c) in x's element type. An undefined
// row is zeros.
Variable append_row(Context& ctx, const Variable& x, const Variable& row);

}  // namespace weft::ops
