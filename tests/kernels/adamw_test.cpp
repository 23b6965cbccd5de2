#include "weft/kernels/adamw.h"

#include <gtest/gtest.h>

#include "tests/kernels/comparison.h"
#include "tests/kernels/test_matrix.h"
#include "weft/base/error.h"
#include "weft/kernels/portable/adamw.h"

namespace weft::kernels {
namespace {

// One parameter for the kernel, and the same for the oracle in float and in double.
struct Parameter {
  Parameter(int64_t count, uint64_t seed, float decay)
      : decay(decay),
        value(random_floats(count, seed)),
        first(value.size()),
        second(value.size()),
        single{value, first, second},
        wide{widen(value), widen(first), widen(second)} {}

  template <typename T>
  struct Reference {
    void step(const AdamWStep& step, const std::vector<float>& gradient, float decay) {
      const std::vector<T> g(gradient.begin(), gradient.end());
      portable::adamw<T>(static_cast<int64_t>(g.size()), g.data(), T(decay), step, value.data(), first.data(),
                         second.data());
    }
    std::vector<T> value, first, second;
  };

  AdamWItem item() {
    return {value.data(), gradient.data(), first.data(), second.data(), static_cast<int64_t>(value.size()), decay};
  }
  void take_gradient(uint64_t seed) { gradient = random_floats(static_cast<int64_t>(value.size()), seed, 0.1f); }

  float decay;
  std::vector<float> value, first, second, gradient;
  Reference<float> single;
  Reference<double> wide;
};

std::vector<Parameter> parameters(std::initializer_list<int64_t> counts) {
  std::vector<Parameter> all;
  uint64_t seed = 1;
  for (int64_t count : counts) all.emplace_back(count, seed++, count % 2 ? 0.1f : 0.0f);
  return all;
}

void run(std::vector<Parameter>& all, int64_t steps, bool with_reference) {
  for (int64_t step = 1; step <= steps; ++step) {
    const AdamWStep settings{.learning_rate = 1e-3, .beta2 = 0.99, .step = step, .gradient_scale = 0.5};
    std::vector<AdamWItem> items;
    for (Parameter& parameter : all) {
      parameter.take_gradient(static_cast<uint64_t>(100 + step));
      if (with_reference) {
        parameter.single.step(settings, parameter.gradient, parameter.decay);
        parameter.wide.step(settings, parameter.gradient, parameter.decay);
      }
      items.push_back(parameter.item());
    }
    adamw(items, settings);
  }
}

TEST(AdamW, HundredStepsAgreeWithTheOracle) {
  for_each_target([] {
    std::vector<Parameter> all = parameters({1, 0, 16, 17, 333, 5});
    run(all, 100, true);
    for (const Parameter& p : all) {
      // The same roundings but for fused products, relative to the largest value of the parameter.
      EXPECT_LE(relative_error(widen(p.value), widen(p.single.value)), 1e-6);
      EXPECT_LE(relative_error(widen(p.first), p.wide.first), 1e-6);
      EXPECT_LE(relative_error(widen(p.second), p.wide.second), 1e-6);
      // PyTorch too multiplies by 1 − lr·decay as a float, whose rounding (up to 3e-8) counts a hundred times.
      EXPECT_LE(relative_error(widen(p.value), p.wide.value), 4e-6);
    }
  });
}

// torch.optim.AdamW([p], lr=0.1, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01), PyTorch 1.13, gradients 0.5, −1,
// 0.25.
TEST(AdamW, ThreeStepsOfPyTorch) {
  float value = 1.0f, first = 0.0f, second = 0.0f;
  const float gradients[] = {0.5f, -1.0f, 0.25f};
  for (int64_t step = 1; step <= 3; ++step) {
    const AdamWItem item{&value, &gradients[step - 1], &first, &second, 1, 0.01f};
    adamw({&item, 1}, {.learning_rate = 0.1, .step = step});
  }
  EXPECT_NEAR(value, 0.94744575, 1e-6);
  EXPECT_NEAR(first, -0.0245000031, 1e-7);
  EXPECT_NEAR(second, 0.00131100032, 1e-9);
}

TEST(AdamW, SameBitsForAnyThreadCount) {
  // More than one piece per parameter and per thread, and not the same in both halves.
  std::vector<Parameter> one = parameters({1, 0, 4096, 4097, 20011, 5}), two = one;
  with_threads(1, [&] { run(one, 3, false); });
  with_threads(2, [&] { run(two, 3, false); });
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].value, two[i].value);
    EXPECT_EQ(one[i].second, two[i].second);
  }
}

TEST(AdamW, NaNGradientReachesTheValue) {
  Parameter parameter(20, 1, 0.0f);
  parameter.take_gradient(2);
  parameter.gradient[18] = std::nanf("");
  const AdamWItem item = parameter.item();
  adamw({&item, 1}, {});
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(std::isnan(parameter.value[i]), i == 18);
}

TEST(AdamWErrors, SayWhatIsWrong) {
  Parameter parameter(4, 1, 0.0f);
  parameter.take_gradient(2);
  AdamWItem item = parameter.item();
  const auto error_of = [&](const AdamWStep& step) -> std::string {
    try {
      adamw({&item, 1}, step);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(error_of({.step = 0}), "adamw: steps count from 1, got step 0");
  EXPECT_EQ(error_of({.beta1 = 1.0}), "adamw: beta1 must be in [0, 1), got 1");
  EXPECT_EQ(error_of({.beta2 = -0.5}), "adamw: beta2 must be in [0, 1), got -0.5");
  item.second_moment = nullptr;
  EXPECT_EQ(error_of({}), "adamw: item 0 of 4 elements lacks a buffer");
  item.count = -1;
  EXPECT_EQ(error_of({}), "adamw: item 0 has the negative count -1");
}

}  // namespace
}  // namespace weft::kernels
