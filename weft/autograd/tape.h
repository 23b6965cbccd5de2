#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "weft/autograd/gradients.h"
#include "weft/autograd/variable.h"

namespace weft {

class BackwardPass;

// Gradients of the outputs of one operation, in the order in which they were recorded; an output that the loss does not
// depend on has an undefined tensor.
using OutputGradients = std::span<const Tensor>;
using BackwardFunction = std::function<void(BackwardPass&, OutputGradients)>;

// What was computed, in order. Run backwards once; every operation lets go of what it saved as soon as it has been
// used.
class Tape {
 public:
  // Called when nothing that is left to run can change the gradient of the parameter any more.
  using FinalGradient = std::function<void(const Parameter&)>;

  // Gradients of a scalar `loss`, times `scale`, for every parameter reached; added to what `gradients` holds. The tape
  // is empty afterwards. weft::Error if the loss was not recorded on this tape.
  void backward(const Variable& loss, Gradients& gradients, float scale = 1.0f, const FinalGradient& on_final = {});
  Gradients backward(const Variable& loss);

  // Appends an operation and gives the slots of its outputs, consecutive from the one returned. `name` must outlive the
  // tape.
  int record(std::string_view name, std::span<const Variable* const> inputs, int outputs, BackwardFunction backward);
  // Gives a constant a slot, so that its gradient can be asked for after backward (tests, attribution).
  Variable watch(const Tensor& value);
  // The gradient of a watched variable after backward(); undefined if the loss does not depend on it.
  Tensor gradient(const Variable& watched) const;

  size_t size() const { return nodes_.size(); }
  std::vector<std::string_view> operations() const;  // names, in the order in which they were recorded

 private:
  friend class BackwardPass;

  struct Node {
    std::string_view name;
    int first_output = 0;
    int outputs = 0;
    std::vector<const Parameter*> parameters;
    BackwardFunction backward;
  };

  std::vector<Node> nodes_;
  int slots_ = 0;
  std::vector<int> watched_;
  std::vector<std::pair<int, Tensor>> watched_gradients_;
};

// What an operation's backward function talks to.
class BackwardPass {
 public:
  BackwardPass(int slots, Gradients& gradients) : slots_(static_cast<size_t>(slots)), gradients_(&gradients) {}

  // Memory to write a gradient into. It has `shape` and `dtype`, or for a parameter the parameter's shape and f32. The
  // kernel must add when `accumulate` is set. Edges that are not wanted have no target: ask edge.wanted() first.
  GradientTarget target(const GradientEdge& edge, const Shape& shape, DType dtype);
  // Hands over a finished gradient: kept as it is if it is the first, else added.
  void add(const GradientEdge& edge, Tensor gradient);

 private:
  friend class Tape;
  std::vector<Tensor> slots_;
  Gradients* gradients_;
};

}  // namespace weft
