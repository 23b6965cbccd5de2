#include "weft/autograd/gradients.h"

#include <cmath>
#include <utility>

#include "weft/kernels/elementwise.h"

namespace weft {

const Tensor* Gradients::find(const Parameter& parameter) const {
  const auto index = static_cast<size_t>(parameter.index());
  return index < entries_.size() && entries_[index].present ? &entries_[index].tensor : nullptr;
}

Tensor* Gradients::find(const Parameter& parameter) {
  return const_cast<Tensor*>(std::as_const(*this).find(parameter));
}

GradientTarget Gradients::target(const Parameter& parameter) {
  const auto index = static_cast<size_t>(parameter.index());
  if (index >= entries_.size()) entries_.resize(index + 1);
  Entry& entry = entries_[index];
  if (!entry.tensor.defined()) entry.tensor = Tensor::empty(parameter.value().shape());
  return {entry.tensor, std::exchange(entry.present, true)};
}

bool Gradients::adopt(const Parameter& parameter, Tensor&& gradient) {
  const bool fits = gradient.is_sole_owner() && gradient.is_contiguous() && gradient.dtype() == DType::f32 &&
                    gradient.shape() == parameter.value().shape();
  if (!fits || find(parameter) != nullptr) return false;
  const auto index = static_cast<size_t>(parameter.index());
  if (index >= entries_.size()) entries_.resize(index + 1);
  entries_[index] = {std::move(gradient), true};
  return true;
}

void Gradients::clear() {
  for (Entry& entry : entries_) entry.present = false;
}

double Gradients::global_norm() const {
  double total = 0.0;
  for (const Entry& entry : entries_) {
    if (entry.present) total += kernels::sum_of_squares(entry.tensor.data<float>(), entry.tensor.numel());
  }
  return std::sqrt(total);
}

const Parameter* Gradients::first_non_finite(const ParameterStore& store) const {
  for (const Parameter& parameter : store) {
    const Tensor* gradient = find(parameter);
    if (gradient != nullptr && kernels::first_non_finite(gradient->data<float>(), gradient->numel()) >= 0) {
      return &parameter;
    }
  }
  return nullptr;
}

}  // namespace weft
