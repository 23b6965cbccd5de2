#include "weft/optim/clipping.h"

#include <cmath>

#include "weft/base/error.h"

namespace weft::optim {

double clip_scale(double norm, double max_norm) {
  require(max_norm >= 0.0 && std::isfinite(max_norm), "clip_scale: the largest norm is 0 (no clipping) or more, got {}",
          max_norm);
  if (max_norm == 0.0) return 1.0;
  const double scale = max_norm / (norm + 1e-6);
  return scale > 1.0 ? 1.0 : scale;
}

}  // namespace weft::optim
