#pragma once

#include <cstdint>

#include "weft/kernels/view.h"

namespace weft::kernels {

// Rotary position embedding (Su et al. 2021). Pair i of a head of width `rotary_dim` turns by position ·
// base^(−2i/rotary_dim). interleaved pairs (2i, 2i + 1) as GPT-J does; half_split pairs (i, i + rotary_dim/2) as LLaMA
// does.
enum class RotaryLayout { interleaved, half_split };

struct Rotary {
  RotaryLayout layout = RotaryLayout::half_split;
  int64_t rotary_dim = 0;  // even, ≤ head_dim; the rest of the head is left as it is
  double base = 10000.0;
};

// Turns every head of every token in place: (tokens, heads, head_dim) seen through `x`, f32 or bf16. `inverse` turns
// back: the gradient, since the turn is orthogonal.
void rotary_apply(const Rotary& rotary, const int32_t* position_ids, int64_t tokens, int64_t heads, bool inverse,
                  MutableHeads x);

}  // namespace weft::kernels
