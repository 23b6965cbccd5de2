#pragma once

#include "weft/kernels/onednn/problem.h"

namespace weft::kernels::onednn {

// Whether solve_transposed_left is the faster way. It is for weight gradients: a stored (k, m) with a long k.
bool prefers_transposed_left(const ProductShape& shape);

// c (m, n) (+)= aᵀ · b piece by piece: each piece of a is transposed and each piece of b packed into memory that stays
// in the caches, where oneDNN's kernel for such operands reads them.
void solve_transposed_left(const Problem& problem);

}  // namespace weft::kernels::onednn
