#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/golden/golden.h"
#include "weft/optim/adamw.h"
#include "weft/optim/clipping.h"
#include "weft/optim/schedule.h"

namespace weft::golden {
namespace {

class AdamWGolden : public testing::TestWithParam<std::string> {};
TEST_P(AdamWGolden, HundredStepsMatchPyTorch) {
  const Golden golden(GetParam());
  ParameterStore store(golden.source());
  for (const std::string& path : golden.names_after("parameters.")) {
    store.root().parameter(path, golden.tensor("parameters." + path).shape(), Initialiser::zeros());
  }
  optim::AdamW optimizer(store, {.beta1 = golden.get<double>("beta1"),
                                 .beta2 = golden.get<double>("beta2"),
                                 .epsilon = golden.get<double>("epsilon"),
                                 .weight_decay = golden.get<double>("weight_decay")});
  const auto steps = golden.get<int64_t>("steps");
  for (int64_t step = 1; step <= steps; ++step) {
    Gradients gradients;
    for (const Parameter& parameter : store) {
      const Tensor all = golden.tensor("inputs.gradients." + parameter.name());
      GradientTarget target = gradients.target(parameter);
      const Tensor one = all.slice(0, step - 1, step).contiguous();
      std::ranges::copy(one.span<float>(), target.tensor.span<float>().begin());
    }
    optimizer.step(store, gradients, {.learning_rate = golden.get<double>("learning_rate")});
    for (const Parameter& parameter : store) {
      const std::string name = fmt::format("outputs.step_{}.{}", step, parameter.name());
      // Of the largest element: both sides are f32 and round every one of the 100 updates once or twice, by 6e-8 at
      // most.
      if (golden.contains(name)) expect_close(name, parameter.value(), golden.tensor(name), 1e-6);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Cases, AdamWGolden, testing::ValuesIn(cases_of("adamw")), case_name);

class ClipGolden : public testing::TestWithParam<std::string> {};
TEST_P(ClipGolden, MatchesPyTorch) {
  const Golden golden(GetParam());
  double squares = 0.0;
  for (const char* name : {"a", "b"}) {
    const Tensor gradient = golden.tensor(std::string("inputs.") + name);
    for (const float g : gradient.span<float>()) squares += static_cast<double>(g) * g;
  }
  const double norm = std::sqrt(squares);
  // The golden is rounded to f32.
  EXPECT_NEAR(norm / golden.tensor("outputs.norm").item(), 1.0, 1e-6);
  const double scale = optim::clip_scale(norm, golden.get<double>("max_norm"));
  for (const char* name : {"a", "b"}) {
    Tensor gradient = golden.tensor(std::string("inputs.") + name).clone();
    for (float& g : gradient.span<float>()) g = static_cast<float>(scale * g);
    expect_close(name, gradient, golden.tensor(std::string("outputs.") + name), 1e-6);  // one f32 rounding on each side
  }
}
INSTANTIATE_TEST_SUITE_P(Cases, ClipGolden, testing::ValuesIn(cases_of("clip")), case_name);

TEST(ScheduleGolden, MatchesPyTorch) {
  const Golden golden("schedule/all");
  const auto steps = golden.get<int64_t>("steps");
  const auto warmup = golden.get<int64_t>("warmup_steps");
  const auto per_epoch = golden.get<int64_t>("steps_per_epoch");
  const optim::Schedule plain{.peak = golden.get<double>("learning_rate"),
                              .minimum = golden.get<double>("min_learning_rate"),
                              .steps = steps,
                              .epochs = golden.get<int64_t>("epochs")};
  const auto compare = [&](const std::string& name, optim::ScheduleKind kind, int64_t warmup_steps) {
    optim::Schedule schedule = plain;
    schedule.kind = kind;
    schedule.warmup_steps = warmup_steps;
    const Tensor expected = golden.tensor("outputs." + name);
    ASSERT_EQ(expected.numel(), steps);
    for (int64_t step = 0; step < steps; ++step) {
      const double rate = optim::learning_rate(schedule, step, step / per_epoch);
      // Of the rate: PyTorch steps its cosines recursively in double, the golden is rounded to f32.
      EXPECT_NEAR(rate / expected.span<float>()[static_cast<size_t>(step)], 1.0, 1e-6) << name << ", step " << step;
    }
  };
  compare("constant", optim::ScheduleKind::constant, 0);
  compare("constant_warmup", optim::ScheduleKind::constant, warmup);
  compare("cosine", optim::ScheduleKind::cosine, 0);
  compare("cosine_warmup", optim::ScheduleKind::cosine, warmup);
  compare("cosine_per_epoch", optim::ScheduleKind::cosine_epochs, 0);
  compare("inverse_sqrt", optim::ScheduleKind::inverse_sqrt, warmup);
}

}  // namespace
}  // namespace weft::golden
