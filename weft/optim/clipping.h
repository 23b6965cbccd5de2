#pragma once

namespace weft::optim {

// The factor that brings gradients of this global norm down to `max_norm`, and 1 if they are within it already or
// max_norm is 0 (no clipping): min(1, max_norm / (norm + 1e-6)), as PyTorch's clip_grad_norm_ (Pascanu et al. 2013).
// weft::Error if max_norm is negative or not finite. A norm that is NaN gives NaN.
double clip_scale(double norm, double max_norm);

}  // namespace weft::optim
