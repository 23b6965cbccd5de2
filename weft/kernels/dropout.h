#pragma once

#include "weft/base/rng.h"

namespace weft::kernels {

// Inverted dropout: an element survives when rng.bits(element) < keep_threshold(probability), scaled by 1/(1 − p).
// Nothing is stored: backward asks the same counter again. probability 0 means none.
struct Dropout {
  float probability = 0.0f;
  Rng rng{};
};

}  // namespace weft::kernels
