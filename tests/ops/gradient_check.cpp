#include "tests/ops/gradient_check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "weft/kernels/elementwise.h"

namespace weft::testing {

namespace {

// Σ w·y with fixed w: any output becomes a scalar loss that looks at each element differently.
struct Loss {
  Variable variable;
  double value = 0.0;  // the sum in double, which differences need
};

Loss weighted_sum(Context& ctx, const Variable& y) {
  const Tensor weights = random_tensor(y.shape(), 99);
  const Tensor values = y.value().contiguous().to(DType::f32);
  double total = 0.0;
  for (int64_t i = 0; i < values.numel(); ++i) total += double{weights.data<float>()[i]} * values.data<float>()[i];
  Variable loss = record(ctx, "weighted_sum", {&y}, Tensor::scalar(static_cast<float>(total)),
                         [weights, edge = y.edge(), dtype = y.dtype()](BackwardPass& pass, const Tensor& dy) {
                           Tensor d = weights.clone();
                           kernels::scale(matrix_view(d), dy.item());
                           pass.add(edge, d.to(dtype));
                         });
  return {std::move(loss), total};
}

std::vector<Tensor> make_inputs(const GradientCase& test) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < test.inputs.size(); ++i) {
    Tensor input = random_tensor(test.inputs[i], 7 + i);
    // Away from zero, where ReLU has no derivative to compare with.
    for (float& x : input.span<float>()) x += x < 0.0f ? -0.1f : 0.1f;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Context make_context(const GradientCase& test, Tape* tape, Precision precision) {
  return {.tape = tape, .training = test.training, .precision = precision, .rng = Rng{5, 0}};
}

double loss_at(const GradientCase& test, const std::vector<Tensor>& inputs) {
  Context ctx = make_context(test, nullptr, Precision::f32);
  const std::vector<Variable> variables(inputs.begin(), inputs.end());
  return weighted_sum(ctx, test.forward(ctx, variables)).value;
}

std::vector<Tensor> gradients_of(const GradientCase& test, const std::vector<Tensor>& inputs, Precision precision) {
  Tape tape;
  Context ctx = make_context(test, &tape, precision);
  std::vector<Variable> variables;
  for (const Tensor& input : inputs) variables.push_back(tape.watch(input));
  const Loss loss = weighted_sum(ctx, test.forward(ctx, variables));
  Gradients none;
  tape.backward(loss.variable, none);
  std::vector<Tensor> gradients;
  for (const Variable& variable : variables) gradients.push_back(tape.gradient(variable));
  return gradients;
}

// dL/dε at inputs[which] + ε · direction, by central differences.
double difference(const GradientCase& test, const std::vector<Tensor>& inputs, size_t which, const Tensor& direction,
                  float step) {
  double losses[2];
  for (int side = 0; side < 2; ++side) {
    std::vector<Tensor> moved = inputs;
    moved[which] = inputs[which].clone();
    kernels::accumulate(matrix_view(direction), matrix_view(moved[which]), side == 0 ? step : -step);
    losses[side] = loss_at(test, moved);
  }
  return (losses[0] - losses[1]) / (2.0 * step);
}

double norm(const Tensor& x) { return std::sqrt(kernels::sum_of_squares(x.data<float>(), x.numel())); }

double dot(const Tensor& a, const Tensor& b) {
  double total = 0.0;
  for (int64_t i = 0; i < a.numel(); ++i) total += double{a.data<float>()[i]} * b.data<float>()[i];
  return total;
}

}  // namespace

Tensor random_tensor(const Shape& shape, uint64_t seed, float scale) {
  Tensor tensor = Tensor::empty(shape);
  const Rng rng{seed, 0};
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.data<float>()[i] = scale * rng.normal(static_cast<uint64_t>(i));
  return tensor;
}

Tensor int_tensor(std::initializer_list<int32_t> values) {
  return Tensor::from<int32_t>({values.begin(), values.size()}, {static_cast<int64_t>(values.size())});
}

void check_gradients(const GradientCase& test) {
  const std::vector<Tensor> inputs = make_inputs(test);
  const std::vector<Tensor> gradients = gradients_of(test, inputs, Precision::f32);
  for (size_t which = 0; which < inputs.size(); ++which) {
    const Tensor& gradient = gradients[which];
    ASSERT_TRUE(gradient.defined()) << "no gradient reached input " << which;
    ASSERT_EQ(gradient.shape(), inputs[which].shape());
    const double length = norm(gradient);
    const int64_t count = inputs[which].numel();
    for (int trial = 0; trial < 6; ++trial) {
      Tensor direction = Tensor::zeros(inputs[which].shape());
      if (trial < 3) {
        direction = random_tensor(direction.shape(), 1000 + static_cast<uint64_t>(trial));
        kernels::scale(matrix_view(direction), static_cast<float>(1.0 / norm(direction)));
      } else {
        direction.data<float>()[(trial * 7919) % count] = 1.0f;
      }
      const double expected = difference(test, inputs, which, direction, 1e-2f);
      // Relative to the gradient's length, the largest that any direction of length 1 can give. 3e-3: the forward pass
      // rounds to 6e-8 relative, divided by steps of 1e-2 and summed over some hundred outputs, plus the third
      // derivative.
      EXPECT_NEAR(dot(gradient, direction), expected, 3e-3 * length + 1e-5)
          << "input " << which << ", trial " << trial << ", |gradient| " << length;
    }
  }
}

void check_bf16_gradients(const GradientCase& test) {
  const std::vector<Tensor> inputs = make_inputs(test);
  const std::vector<Tensor> expected = gradients_of(test, inputs, Precision::f32);
  const std::vector<Tensor> rounded = gradients_of(test, inputs, Precision::bf16);
  for (size_t which = 0; which < inputs.size(); ++which) {
    ASSERT_TRUE(rounded[which].defined());
    Tensor difference = expected[which].clone();
    kernels::accumulate(matrix_view(rounded[which].to(DType::f32)), matrix_view(difference), -1.0f);
    // Relative to the gradient's length: bf16 keeps 8 bits (4e-3), and a handful of roundings add up.
    EXPECT_LE(norm(difference), 2e-2 * norm(expected[which]) + 1e-5) << "input " << which;
  }
}

std::vector<std::string> recorded_operations(const GradientCase& test) {
  Tape tape;
  Context ctx = make_context(test, &tape, Precision::f32);
  std::vector<Variable> variables;
  for (const Tensor& input : make_inputs(test)) variables.push_back(tape.watch(input));
  (void)test.forward(ctx, variables);
  std::vector<std::string> names;
  for (const std::string_view name : tape.operations()) names.emplace_back(name);
  return names;
}

}  // namespace weft::testing
