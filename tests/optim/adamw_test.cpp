#include "weft/optim/adamw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "weft/base/error.h"
#include "weft/optim/clipping.h"

namespace weft::optim {
namespace {

using Numbers = std::array<float, 6>;

constexpr Numbers start = {0.5f, -1.25f, 2.0f, -0.75f, 0.1f, 3.0f};

// A gradient that changes sign and size from step to step, the same formula as in the script that made the expected
// values.
Numbers gradient_at(int step) {
  Numbers gradient;
  for (int i = 0; i < 6; ++i) {
    gradient[static_cast<size_t>(i)] =
        static_cast<float>(std::sin(0.7 * step + i) * (1 + i) * 0.3 + 0.1 * std::cos(0.3 * step * i));
  }
  return gradient;
}

double norm_of(const Numbers& numbers) {
  return std::sqrt(std::accumulate(numbers.begin(), numbers.end(), 0.0,
                                   [](double sum, float x) { return sum + static_cast<double>(x) * x; }));
}

// One matrix and one bias with the same numbers: only the matrix decays by default.
struct Model {
  Model() : store(initialise(0)) {
    for (const Shape& shape : {Shape{2, 3}, Shape{6}}) {
      Parameter& parameter = store.root().parameter(shape.rank() == 2 ? "weight" : "bias", shape, Initialiser::zeros());
      std::ranges::copy(start, parameter.mutable_value().data<float>());
    }
  }
  void set_gradients(const Numbers& numbers) {
    gradients.clear();
    for (const Parameter& parameter : store) {
      Tensor target = gradients.target(parameter).tensor;
      std::ranges::copy(numbers, target.data<float>());
    }
  }
  Numbers values(int index) const {
    Numbers numbers;
    std::ranges::copy(store[index].value().span<float>(), numbers.begin());
    return numbers;
  }

  ParameterStore store;
  Gradients gradients;
};

struct Setting {
  AdamWConfig config;
  double learning_rate;
  double clip_norm;
  Numbers after_10;
  Numbers after_100;
  Numbers first_moment_after_100;
};

// torch.optim.AdamW of PyTorch 1.13 (CPU, f32) on the same gradients, with clip_grad_norm_ in the third.
const Setting settings[] = {
    {{.weight_decay = 0.01},
     1e-2,
     0.0,
     {0.434628397f, -1.2739749f, 2.01067376f, -0.704614162f, 0.126091048f, 2.9907887f},
     {0.0519908294f, -1.25817525f, 1.99850285f, -0.689746618f, 0.128232569f, 2.95890093f},
     {0.0912730023f, 0.0391752645f, 0.120590173f, 0.0660617203f, -0.131808892f, -0.272140831f}},
    {{.beta2 = 0.99, .weight_decay = 0.1},
     1e-3,
     0.0,
     {0.493000478f, -1.25127602f, 1.99926209f, -0.74478811f, 0.102522373f, 2.99638486f},
     {0.45059523f, -1.23962581f, 1.98193061f, -0.737258017f, 0.101931147f, 2.96902394f},
     {0.0912730023f, 0.0391752645f, 0.120590173f, 0.0660617203f, -0.131808892f, -0.272140831f}},
    {{.weight_decay = 0.0},
     1e-2,
     1.0,
     {0.436965376f, -1.27761877f, 2.01187396f, -0.706698656f, 0.128492385f, 2.9953146f},
     {0.0816849098f, -1.26974642f, 2.01419377f, -0.705741584f, 0.126863331f, 2.99277163f},
     {0.0440291129f, 0.0158626307f, 0.0593340024f, 0.0390392058f, -0.0566751435f, -0.129469335f}},
};

void expect_near(const Numbers& got, const Numbers& expected, const char* what) {
  for (size_t i = 0; i < got.size(); ++i) {
    // 1e-6 of the largest number here (3): the same f32 steps, up to the order of roundings in each.
    EXPECT_NEAR(got[i], expected[i], 3e-6) << what << ", element " << i;
  }
}

TEST(AdamW, HundredStepsAsPyTorch) {
  for (const Setting& setting : settings) {
    Model model;
    AdamW optimizer(model.store, setting.config);
    for (int step = 1; step <= 100; ++step) {
      const Numbers gradient = gradient_at(step);
      model.set_gradients(gradient);
      const double scale = clip_scale(norm_of(gradient), setting.clip_norm);
      optimizer.step(model.store, model.gradients, {.learning_rate = setting.learning_rate, .gradient_scale = scale});
      if (step == 10) expect_near(model.values(0), setting.after_10, "after 10 steps");
    }
    expect_near(model.values(0), setting.after_100, "after 100 steps");
    Numbers moment;
    std::ranges::copy(optimizer.state()[0].tensor.span<float>(), moment.begin());
    expect_near(moment, setting.first_moment_after_100, "first moment");
    EXPECT_EQ(optimizer.steps(), 100);
  }
}

TEST(AdamW, DecaysMatricesOnlyUnlessAsked) {
  for (const DecayScope scope : {DecayScope::matrices, DecayScope::all}) {
    Model model;
    AdamW optimizer(model.store, {.weight_decay = 0.5, .decay_scope = scope});
    model.set_gradients({});
    optimizer.step(model.store, model.gradients, {.learning_rate = 0.1});
    // With a zero gradient the step is the decay alone: (1 − 0.1 · 0.5) of the value.
    EXPECT_FLOAT_EQ(model.values(0)[5], 2.85f);
    EXPECT_FLOAT_EQ(model.values(1)[5], scope == DecayScope::all ? 2.85f : 3.0f);
  }
}

TEST(AdamW, LeavesAloneWhatHasNoGradientOrIsFrozen) {
  Model model;
  model.store[1].set_trains(false);
  AdamW optimizer(model.store, {.weight_decay = 0.5});
  optimizer.step(model.store, Gradients(), {.learning_rate = 0.1});
  EXPECT_EQ(model.values(0), start);
  model.set_gradients(gradient_at(1));
  optimizer.step(model.store, model.gradients, {.learning_rate = 0.1});
  EXPECT_NE(model.values(0), start);
  EXPECT_EQ(model.values(1), start);
  EXPECT_EQ(optimizer.state().size(), 2u);  // both moments of the weight
}

TEST(AdamW, ContinuesFromItsStateBitForBit) {
  const AdamWConfig config{.weight_decay = 0.01};
  Model whole, halves;
  AdamW optimizer(whole.store, config);
  AdamW first(halves.store, config), second(halves.store, config);
  for (int step = 1; step <= 20; ++step) {
    whole.set_gradients(gradient_at(step));
    halves.set_gradients(gradient_at(step));
    optimizer.step(whole.store, whole.gradients, {.learning_rate = 0.01});
    if (step == 11) {
      std::vector<StateTensor> state = first.state();
      std::ranges::reverse(state);
      second.restore(state, first.steps());
    }
    (step <= 10 ? first : second).step(halves.store, halves.gradients, {.learning_rate = 0.01});
  }
  EXPECT_EQ(whole.values(0), halves.values(0));
  EXPECT_EQ(whole.values(1), halves.values(1));
}

TEST(AdamW, RefusesAStateOfAnotherModel) {
  Model model;
  AdamW optimizer(model.store, {});
  std::vector<StateTensor> state = optimizer.state();
  state[0].tensor = Tensor::zeros({3, 3});
  state[1].name = "second_moment.other";
  try {
    optimizer.restore(state, 5);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("first_moment.weight: expected f32 (2, 3), got f32 (3, 3)"),
                               testing::HasSubstr("second_moment.weight is missing"),
                               testing::HasSubstr("second_moment.other belongs to no parameter")));
  }
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST(AdamW, RefusesValuesOutsideTheirRange) {
  Model model;
  const std::pair<AdamWConfig, const char*> cases[] = {
      {{.beta1 = 1.0}, "beta1 is in [0, 1), got 1"},
      {{.beta2 = -0.1}, "beta2 is in [0, 1), got -0.1"},
      {{.epsilon = 0.0}, "epsilon is above 0, got 0"},
      {{.weight_decay = -1.0}, "weight_decay is 0 or more, got -1"},
  };
  for (const auto& bad : cases) {
    EXPECT_THAT([&] { AdamW(model.store, bad.first); }, testing::ThrowsMessage<Error>(testing::HasSubstr(bad.second)));
  }
}

TEST(ClipScale, AsPyTorch) {
  EXPECT_EQ(clip_scale(0.5, 1.0), 1.0);
  EXPECT_EQ(clip_scale(1e9, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(clip_scale(4.0, 1.0), 1.0 / (4.0 + 1e-6));
  EXPECT_TRUE(std::isnan(clip_scale(std::nan(""), 1.0)));
  EXPECT_THAT([] { clip_scale(1.0, -1.0); }, testing::ThrowsMessage<Error>(testing::HasSubstr("got -1")));
}

}  // namespace
}  // namespace weft::optim
