#include "weft/nn/initialisation.h"

#include <cmath>

namespace weft::nn {

Initialiser WeightInitialisation::weight(int64_t fan_in, int64_t fan_out) const {
  switch (scheme) {
    case Initialisation::xavier_uniform:
      return Initialiser::xavier_uniform(fan_in, fan_out);
    case Initialisation::xavier_normal:
      return Initialiser::xavier_normal(fan_in, fan_out);
    case Initialisation::normal:
    case Initialisation::scaled_normal:
      break;
  }
  return Initialiser::normal(deviation);
}

Initialiser WeightInitialisation::residual_weight(int64_t fan_in, int64_t fan_out) const {
  if (scheme != Initialisation::scaled_normal) return weight(fan_in, fan_out);
  return Initialiser::normal(deviation / std::sqrt(2.0 * static_cast<double>(layers)));
}

Initialiser WeightInitialisation::embedding(double scale) const {
  const bool xavier = scheme == Initialisation::xavier_uniform || scheme == Initialisation::xavier_normal;
  return Initialiser::normal(xavier ? 1.0 / scale : deviation);
}

}  // namespace weft::nn
