#pragma once

#include <cstdint>

#include "weft/base/rng.h"
#include "weft/tensor/tensor.h"

namespace weft {

// How a new parameter gets its first values.
struct Initialiser {
  enum class Kind { constant, normal, uniform };
  Kind kind = Kind::constant;
  double scale = 0.0;  // the constant, the standard deviation, or the bound a of U(−a, a)

  static Initialiser zeros() { return {Kind::constant, 0.0}; }
  static Initialiser ones() { return {Kind::constant, 1.0}; }
  static Initialiser normal(double deviation) { return {Kind::normal, deviation}; }
  static Initialiser uniform(double bound) { return {Kind::uniform, bound}; }
  // Glorot and Bengio 2010: variance 2/(fan_in + fan_out).
  static Initialiser xavier_uniform(int64_t fan_in, int64_t fan_out);
  static Initialiser xavier_normal(int64_t fan_in, int64_t fan_out);

  // Fills an f32 tensor from `rng`, the same values for any thread count.
  void fill(Tensor& tensor, const Rng& rng) const;
};

}  // namespace weft
