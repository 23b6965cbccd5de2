#pragma once

#include <cmath>
#include <cstdint>

#include "weft/kernels/adamw.h"

// What weft/kernels/adamw.h computes, for one parameter: the oracle, also in double.
namespace weft::kernels::portable {

template <typename T>
void adamw(int64_t count, const T* gradient, T weight_decay, const AdamWStep& step, T* value, T* first_moment,
           T* second_moment) {
  const T beta1 = T(step.beta1), beta2 = T(step.beta2), rest1 = T(1.0 - step.beta1), rest2 = T(1.0 - step.beta2);
  const T decay = T(1.0 - step.learning_rate * static_cast<double>(weight_decay));
  const T correction1 = T(1.0 - std::pow(step.beta1, static_cast<double>(step.step)));
  const T correction2 = T(1.0 - std::pow(step.beta2, static_cast<double>(step.step)));
  for (int64_t i = 0; i < count; ++i) {
    const T g = gradient[i] * T(step.gradient_scale);
    value[i] *= decay;
    first_moment[i] = beta1 * first_moment[i] + rest1 * g;
    second_moment[i] = beta2 * second_moment[i] + rest2 * g * g;
    const T denominator = std::sqrt(second_moment[i]) / std::sqrt(correction2) + T(step.epsilon);
    value[i] -= T(step.learning_rate) / correction1 * first_moment[i] / denominator;
  }
}

}  // namespace weft::kernels::portable
