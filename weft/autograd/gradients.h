#pragma once

#include <vector>

#include "weft/autograd/parameter_store.h"
#include "weft/tensor/tensor.h"

namespace weft {

// Where a kernel writes a gradient: into fresh memory, or on top of what is there.
struct GradientTarget {
  Tensor tensor;
  bool accumulate = false;
};

// One f32 gradient per parameter that a backward pass reached. Kept from step to step: clear() forgets the numbers and
// keeps the memory, several backward passes without clear() between them add up.
class Gradients {
 public:
  // The gradient, or null if nothing reached the parameter since the last clear().
  const Tensor* find(const Parameter& parameter) const;
  Tensor* find(const Parameter& parameter);
  // Memory for the gradient of `parameter`, of its shape: to be written if nothing is there yet, to be added to
  // otherwise.
  GradientTarget target(const Parameter& parameter);
  // Takes `gradient` over as it is if nothing is there yet and it has the right form; false: add it to target()
  // instead.
  bool adopt(const Parameter& parameter, Tensor&& gradient);
  void clear();

  // √Σ g², over all gradients, in double.
  double global_norm() const;
  // The first parameter of `store` whose gradient holds a NaN or infinity; null if all are finite.
  const Parameter* first_non_finite(const ParameterStore& store) const;

 private:
  struct Entry {
    Tensor tensor;
    bool present = false;
  };
  std::vector<Entry> entries_;  // by Parameter::index()
};

}  // namespace weft
