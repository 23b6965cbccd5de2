#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/autograd/context.h"
#include "weft/autograd/gradients.h"
#include "weft/autograd/parameter_store.h"
#include "weft/base/json.h"
#include "weft/io/safetensors.h"

namespace weft::golden {

// The design's numbers: the largest difference from PyTorch, relative to the largest element of the tensor, in f32.
// Both leave room for sums of some hundred f32 terms in another order (each rounds by 6e-8) and for the simd exp and
// tanh.
constexpr double kForwardTolerance = 1e-5;
constexpr double kGradientTolerance = 1e-4;
// bf16 rounds the operands of products to 8 bits (2^-9 = 0.2 %): through a few layers that stays within 3 % of the
// largest element of an output or a gradient.
constexpr double kBf16Tolerance = 3e-2;

// One file made by scripts/make_goldens.py: the tensors inputs.*, parameters.*, outputs.*, output_gradients.*,
// input_gradients.* and parameter_gradients.*, and the configuration they belong to.
class Golden {
 public:
  explicit Golden(const std::string& name);  // such as "linear/relu"

  const Json& config() const { return config_; }
  template <typename T>
  T get(std::string_view key) const {
    return config_.at(std::string(key)).get<T>();
  }
  bool contains(std::string_view name) const { return file_.contains(name); }
  Tensor tensor(std::string_view name) const { return file_.tensor(name); }
  // The rest of the names that start with `prefix`.
  std::vector<std::string> names_after(std::string_view prefix) const;
  std::vector<int64_t> integers(std::string_view name) const;  // a vector of i32, such as inputs.lengths
  // Every parameter of the file, under the path that weft gives it.
  std::unique_ptr<ParameterSource> source() const;

 private:
  SafetensorsFile file_;
  Json config_;
};

// The cases of one group ("linear"): its files, sorted.
std::vector<std::string> cases_of(std::string_view group);
// "linear/no_bias" → "no_bias": a name for INSTANTIATE_TEST_SUITE_P.
std::string case_name(const testing::TestParamInfo<std::string>& info);

// Largest |actual − expected| over the largest |expected|; infinite if the shapes differ or a number is not finite. A
// row is all but the last dimension: rows whose entry in `counted` (u8, optional) is 0 are left out.
double relative_difference(const Tensor& actual, const Tensor& expected, const Tensor& counted = {});
void expect_close(std::string_view what, const Tensor& actual, const Tensor& expected, double tolerance,
                  const Tensor& counted = {});

// One forward and backward pass over a golden: inputs that are watched, outputs that are compared, gradients that are
// compared.
class GoldenRun {
 public:
  explicit GoldenRun(const Golden& golden, Precision precision = Precision::f32) : golden_(&golden) {
    context.tape = &tape_;
    context.precision = precision;
  }

  // The float input `name`, whose gradient will be compared.
  Variable input(const std::string& name);
  // Compares the output with outputs.<name>, and starts the backward pass with output_gradients.<name>.
  void output(const std::string& name, const Variable& variable);
  // Runs the backward pass and compares the gradients of all inputs, and of all parameters of the store.
  void compare_gradients(ParameterStore& parameters);

  Context context;

 private:
  struct Watched {
    std::string name;
    Variable variable;
  };
  struct Output {
    Variable variable;
    Tensor gradient;
  };

  double tolerance(double in_f32) const { return context.precision == Precision::bf16 ? kBf16Tolerance : in_f32; }

  const Golden* golden_;
  Tape tape_;
  std::vector<Watched> watched_;
  std::vector<Output> outputs_;
};

// Compares the gradient of every parameter in the store with parameter_gradients.<path>; each must be there.
void expect_parameter_gradients(const Golden& golden, const Gradients& gradients, ParameterStore& parameters,
                                double tolerance);

}  // namespace weft::golden
