#pragma once

#include "weft/autograd/context.h"

namespace weft::ops {

// Inverted dropout (Srivastava et al. 2014): while training every element is zeroed with `probability`, the others are
// divided by 1 − probability. Not training: x itself. The mask is regenerated in backward, not kept.
Variable dropout(Context& ctx, const Variable& x, double probability);

}  // namespace weft::ops
