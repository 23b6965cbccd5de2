#pragma once

#include "weft/kernels/onednn/product.h"

namespace weft::kernels::onednn {

// One product (or batch of products) to compute: what it is and where it lies.
struct Problem {
  ProductShape shape;
  ProductData data;
  // The residual is c itself: it would be lost if oneDNN kept intermediate sums there.
  bool residual_is_c = false;
};

// Where bf16 is multiplied: in generated code if the processor has any, or always in f32 copies, as on processors
// without.
enum class Bf16Products { native, widened };

// Computes it the fastest way there is. All sizes positive, layouts checked.
void solve(const Problem& problem, Bf16Products bf16);

}  // namespace weft::kernels::onednn
