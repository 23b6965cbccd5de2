#pragma once

#include "weft/autograd/initialiser.h"

namespace weft::nn {

// First values of weight matrices. normal and scaled_normal: N(0, deviation²), where scaled_normal divides the
// deviation of the projections that end in the residual stream by √(2 · layers) (Radford et al. 2019). xavier_*: Glorot
// and Bengio 2010; token embeddings are then N(0, 1), and N(0, 1/d) where they are scaled by √d (Vaswani et al. 2017).
// Biases start at zero.
enum class Initialisation { normal, scaled_normal, xavier_uniform, xavier_normal };

struct WeightInitialisation {
  Initialisation scheme = Initialisation::normal;
  double deviation = 0.02;
  int64_t layers = 1;  // of the stack, for scaled_normal

  // Of a matrix (fan_out, fan_in); each of several matrices stacked into one parameter has its own fans.
  Initialiser weight(int64_t fan_in, int64_t fan_out) const;
  // Of a projection whose result is added to the residual stream.
  Initialiser residual_weight(int64_t fan_in, int64_t fan_out) const;
  // Of a table whose rows are multiplied by `scale` when they are read.
  Initialiser embedding(double scale = 1.0) const;
};

}  // namespace weft::nn
