#include "weft/optim/adamw.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "weft/base/error.h"
#include "weft/kernels/adamw.h"

namespace weft::optim {

namespace {

constexpr std::string_view first_prefix = "first_moment.";
constexpr std::string_view second_prefix = "second_moment.";

void check(const AdamWConfig& config) {
  require(config.beta1 >= 0.0 && config.beta1 < 1.0, "adamw: beta1 is in [0, 1), got {}", config.beta1);
  require(config.beta2 >= 0.0 && config.beta2 < 1.0, "adamw: beta2 is in [0, 1), got {}", config.beta2);
  require(config.epsilon > 0.0 && std::isfinite(config.epsilon), "adamw: epsilon is above 0, got {}", config.epsilon);
  require(config.weight_decay >= 0.0 && std::isfinite(config.weight_decay), "adamw: weight_decay is 0 or more, got {}",
          config.weight_decay);
}

}  // namespace

AdamW::AdamW(const ParameterStore& parameters, const AdamWConfig& config) : config_(config) {
  check(config);
  for (const Parameter& parameter : parameters) {
    Moments moments{parameter.name(), {}, {}};
    if (parameter.trains()) {
      moments.first = Tensor::zeros(parameter.value().shape());
      moments.second = Tensor::zeros(parameter.value().shape());
    }
    moments_.push_back(std::move(moments));
  }
}

void AdamW::step(ParameterStore& parameters, const Gradients& gradients, const AdamWCall& call) {
  require(parameters.size() == static_cast<int>(moments_.size()),
          "adamw: made for a store of {} parameters, called with one of {}", moments_.size(), parameters.size());
  std::vector<kernels::AdamWItem> items;
  items.reserve(moments_.size());
  for (Parameter& parameter : parameters) {
    const Tensor* gradient = gradients.find(parameter);
    Moments& moments = moments_[static_cast<size_t>(parameter.index())];
    if (gradient == nullptr || !moments.first.defined() || !parameter.trains()) continue;
    const bool decays = config_.decay_scope == DecayScope::all || parameter.decays();
    items.push_back({.value = parameter.mutable_value().data<float>(),
                     .gradient = gradient->data<float>(),
                     .first_moment = moments.first.data<float>(),
                     .second_moment = moments.second.data<float>(),
                     .count = parameter.value().numel(),
                     .weight_decay = decays ? static_cast<float>(config_.weight_decay) : 0.0f});
  }
  ++steps_;
  kernels::adamw(items, {.learning_rate = call.learning_rate,
                         .beta1 = config_.beta1,
                         .beta2 = config_.beta2,
                         .epsilon = config_.epsilon,
                         .step = steps_,
                         .gradient_scale = call.gradient_scale});
}

std::vector<StateTensor> AdamW::state() const {
  std::vector<StateTensor> state;
  for (const Moments& moments : moments_) {
    if (!moments.first.defined()) continue;
    state.push_back({std::string(first_prefix) + moments.name, moments.first});
    state.push_back({std::string(second_prefix) + moments.name, moments.second});
  }
  return state;
}

void AdamW::restore(const std::vector<StateTensor>& state, int64_t steps) {
  require(steps >= 0, "adamw: a state after {} steps cannot be", steps);
  std::map<std::string_view, const Tensor*> given;
  for (const auto& [name, tensor] : state) given.emplace(name, &tensor);
  std::vector<std::string> problems;
  const std::vector<StateTensor> own = this->state();
  for (const auto& [name, tensor] : own) {
    const auto found = given.find(name);
    if (found == given.end()) {
      problems.push_back(fmt::format("{} is missing", name));
    } else if (found->second->shape() != tensor.shape() || found->second->dtype() != DType::f32) {
      problems.push_back(fmt::format("{}: expected f32 {}, got {} {}", name, tensor.shape(),
                                     name_of(found->second->dtype()), found->second->shape()));
    }
  }
  for (const auto& [name, tensor] : state) {
    const bool known = std::ranges::any_of(own, [&](const StateTensor& mine) { return mine.name == name; });
    if (!known) problems.push_back(fmt::format("{} belongs to no parameter of this model", name));
  }
  require(problems.empty(), "adamw: the saved state does not fit this model:\n  {}", fmt::join(problems, "\n  "));
  for (StateTensor mine : own) {
    const Tensor values = given.at(mine.name)->contiguous();
    std::ranges::copy(values.span<float>(), mine.tensor.data<float>());
  }
  steps_ = steps;
}

}  // namespace weft::optim
