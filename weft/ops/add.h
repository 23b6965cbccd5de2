#pragma once

#include "weft/autograd/context.h"

namespace weft::ops {

// a + scale · b, same shapes; the result has a's element type. Residual streams and joint losses.
Variable add(Context& ctx, const Variable& a, const Variable& b, float scale = 1.0f);

// x + dropout(y): the residual connection. The result has x's element type.
Variable add_dropout(Context& ctx, const Variable& x, const Variable& y, double probability);

}  // namespace weft::ops
