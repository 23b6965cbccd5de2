#include "weft/autograd/tape.h"

#include <algorithm>
#include <map>

#include "weft/base/error.h"
#include "weft/kernels/elementwise.h"

namespace weft {

int Tape::record(std::string_view name, std::span<const Variable* const> inputs, int outputs,
                 BackwardFunction backward) {
  Node node{name, slots_, outputs, {}, std::move(backward)};
  for (const Variable* input : inputs) {
    require(input->edge().slot < slots_, "{}: an input was recorded on another tape", name);
    if (input->edge().parameter != nullptr) node.parameters.push_back(input->edge().parameter);
  }
  nodes_.push_back(std::move(node));
  slots_ += outputs;
  return nodes_.back().first_output;
}

Variable Tape::watch(const Tensor& value) {
  watched_.push_back(slots_);
  return {value, slots_++};
}

std::vector<std::string_view> Tape::operations() const {
  std::vector<std::string_view> names;
  for (const Node& node : nodes_) names.push_back(node.name);
  return names;
}

Tensor Tape::gradient(const Variable& watched) const {
  for (const auto& [slot, tensor] : watched_gradients_) {
    if (slot == watched.edge().slot) return tensor;
  }
  fail("tape: gradient() is for variables made by watch(), after backward()");
}

void Tape::backward(const Variable& loss, Gradients& gradients, float scale, const FinalGradient& on_final) {
  require(loss.defined() && loss.value().numel() == 1, "backward: the loss is a single number, not {}",
          loss.defined() ? loss.shape() : Shape{0});
  require(loss.edge().slot >= 0 && loss.edge().slot < slots_,
          "backward: the loss was not recorded on this tape, or depends on nothing that trains");
  std::map<const Parameter*, int> uses;
  for (const Node& node : nodes_) {
    for (const Parameter* parameter : node.parameters) ++uses[parameter];
  }

  BackwardPass pass(slots_, gradients);
  pass.slots_[static_cast<size_t>(loss.edge().slot)] = Tensor::full(loss.shape(), scale);
  watched_gradients_.clear();
  while (!nodes_.empty()) {
    {
      const Node node = std::move(nodes_.back());
      nodes_.pop_back();
      const auto first = pass.slots_.begin() + node.first_output;
      std::vector<Tensor> outputs(std::make_move_iterator(first), std::make_move_iterator(first + node.outputs));
      const bool reached = std::ranges::any_of(outputs, [](const Tensor& t) { return t.defined(); });
      if (reached) node.backward(pass, outputs);
      for (const Parameter* parameter : node.parameters) {
        if (--uses[parameter] == 0 && on_final && gradients.find(*parameter) != nullptr) on_final(*parameter);
      }
    }
  }
  for (const int slot : watched_) watched_gradients_.emplace_back(slot, pass.slots_[static_cast<size_t>(slot)]);
  watched_.clear();
  slots_ = 0;
}

Gradients Tape::backward(const Variable& loss) {
  Gradients gradients;
  backward(loss, gradients);
  return gradients;
}

GradientTarget BackwardPass::target(const GradientEdge& edge, const Shape& shape, DType dtype) {
  if (edge.parameter != nullptr) return gradients_->target(*edge.parameter);
  require(edge.slot >= 0, "backward: no gradient is wanted here");
  Tensor& slot = slots_[static_cast<size_t>(edge.slot)];
  if (!slot.defined()) {
    slot = Tensor::empty(shape, dtype);
    return {slot, false};
  }
  // A gradient handed over by add() may still be read elsewhere: writing on top of it would change that too.
  if (!slot.is_sole_owner()) slot = slot.clone();
  return {slot.shape() == shape ? slot : slot.reshape(shape), true};
}

void BackwardPass::add(const GradientEdge& edge, Tensor gradient) {
  if (!edge.wanted()) return;
  if (edge.parameter != nullptr) {
    if (gradients_->adopt(*edge.parameter, std::move(gradient))) return;
  } else if (Tensor& slot = slots_[static_cast<size_t>(edge.slot)]; !slot.defined()) {
    slot = std::move(gradient);
    return;
  }
  GradientTarget into = target(edge, gradient.shape(), gradient.dtype());
  const Tensor dense = gradient.contiguous();
  if (into.accumulate) {
    kernels::accumulate(matrix_view(dense), matrix_view(into.tensor));
  } else {
    kernels::convert(matrix_view(dense), matrix_view(into.tensor));
  }
}

}  // namespace weft
