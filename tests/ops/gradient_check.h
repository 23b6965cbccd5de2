#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "weft/autograd/context.h"

namespace weft::testing {

// One row of the table of gradient checks: an operation under some shapes, masks and flags.
struct GradientCase {
  std::string name;
  std::vector<Shape> inputs;  // f32, filled with N(0, 1) moved away from zero by 0.1
  // The operation; the inputs arrive as watched variables. Called many times with the same random streams.
  std::function<Variable(Context&, const std::vector<Variable>&)> forward;
  bool training = false;
};

inline void PrintTo(const GradientCase& test, std::ostream* out) { *out << test.name; }

std::vector<GradientCase> gradient_cases();

// Compares the recorded gradient with central differences, along random directions and along single elements of every
// input.
void check_gradients(const GradientCase& test);
// The gradients in bf16 precision against those in f32.
void check_bf16_gradients(const GradientCase& test);
// Names of the operations that the case records.
std::vector<std::string> recorded_operations(const GradientCase& test);

Tensor random_tensor(const Shape& shape, uint64_t seed, float scale = 1.0f);
Tensor int_tensor(std::initializer_list<int32_t> values);

}  // namespace weft::testing
