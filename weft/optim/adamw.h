#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/autograd/gradients.h"
#include "weft/autograd/parameter_store.h"

namespace weft::optim {

// Which parameters weight decay shrinks: matrices only (never norms, biases: Parameter::decays()), or every one.
enum class DecayScope { matrices, all };

struct AdamWConfig {
  double beta1 = 0.9;       // in [0, 1)
  double beta2 = 0.999;     // in [0, 1)
  double epsilon = 1e-8;    // > 0
  double weight_decay = 0;  // ≥ 0, times the learning rate: decoupled from the gradient
  DecayScope decay_scope = DecayScope::matrices;
};

// What changes from step to step.
struct AdamWCall {
  double learning_rate = 0.0;
  double gradient_scale = 1.0;  // multiplies every gradient first: see clip_scale()
};

// A tensor of an optimizer's state and the name under which a checkpoint keeps it.
struct StateTensor {
  std::string name;
  Tensor tensor;
};

// AdamW (Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization"), the numbers of PyTorch's. One optimizer
// serves one store; it keeps two f32 tensors of the parameter's shape for every parameter that trains.
class AdamW {
 public:
  // weft::Error for a value outside its range.
  AdamW(const ParameterStore& parameters, const AdamWConfig& config);

  // Changes every parameter that trains and that `gradients` reaches; the others stay as they are.
  void step(ParameterStore& parameters, const Gradients& gradients, const AdamWCall& call);

  int64_t steps() const { return steps_; }  // taken so far
  const AdamWConfig& config() const { return config_; }

  // "first_moment.<parameter>" and "second_moment.<parameter>", sharing this optimizer's memory, in the order of the
  // store.
  std::vector<StateTensor> state() const;
  // Goes on from a state(), given in any order, and the number of steps taken. weft::Error names every tensor that is
  // missing, unexpected or of another shape or type; nothing has changed then.
  void restore(const std::vector<StateTensor>& state, int64_t steps);

 private:
  struct Moments {
    std::string name;  // the parameter's
    Tensor first;
    Tensor second;  // both undefined for a parameter that does not train
  };

  AdamWConfig config_;
  std::vector<Moments> moments_;  // by Parameter::index()
  int64_t steps_ = 0;
};

}  // namespace weft::optim
