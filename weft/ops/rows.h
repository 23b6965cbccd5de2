#pragma once

#include "weft/autograd/context.h"

namespace weft::ops {

// Rows [begin, end) of x (n, …), sharing its memory: a part of a weight.
Variable rows(Context& ctx, const Variable& x, int64_t begin, int64_t end);

}  // namespace weft::ops
