#include "weft/optim/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"

namespace weft::optim {
namespace {

TEST(Schedule, ConstantWithWarmUp) {
  const Schedule schedule{.peak = 0.4, .warmup_steps = 4};
  const double expected[] = {0.1, 0.2, 0.3, 0.4, 0.4, 0.4};
  for (int64_t step = 0; step < 6; ++step) EXPECT_DOUBLE_EQ(learning_rate(schedule, step, 0), expected[step]);
}

TEST(Schedule, CosinePerStep) {
  const Schedule schedule{.kind = ScheduleKind::cosine, .peak = 1.0, .minimum = 0.2, .warmup_steps = 10, .steps = 110};
  check(schedule);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0, 0), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 9, 0), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 10, 0), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 60, 0), 0.6);  // half-way
  EXPECT_NEAR(learning_rate(schedule, 35, 0), 0.2 + 0.4 * (1 + 0.70710678118),
              1e-9);  // a quarter: cos(π/4); 1e-9 of the peak
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 110, 0), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 10000, 0), 0.2);
}

// torch.optim.lr_scheduler.CosineAnnealingLR of PyTorch 1.13, lr 1e-4, eta_min 1e-7: the rate of each epoch.
TEST(Schedule, CosinePerEpochAsPyTorch) {
  const std::vector<std::vector<double>> tables = {
      {0.0001, 7.502500000000001e-05, 2.5075000000000013e-05},
      {0.0001, 9.046039886902862e-05, 6.548539886902863e-05, 3.461460113097138e-05, 9.63960113097138e-06}};
  for (const std::vector<double>& table : tables) {
    const auto epochs = static_cast<int64_t>(table.size());
    const Schedule schedule{.kind = ScheduleKind::cosine_epochs, .peak = 1e-4, .minimum = 1e-7, .epochs = epochs};
    check(schedule);
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      // Relative to the peak; PyTorch gets the same numbers by a recursion.
      EXPECT_NEAR(learning_rate(schedule, 313 * epoch, epoch), table[static_cast<size_t>(epoch)], 1e-4 * 1e-12);
    }
    EXPECT_NEAR(learning_rate(schedule, 0, epochs), 1e-7, 1e-4 * 1e-12);
  }
}

TEST(Schedule, InverseSquareRootIsNoam) {
  const int64_t warmup = 4000;
  const Schedule schedule{.kind = ScheduleKind::inverse_sqrt, .peak = noam_peak(512, warmup), .warmup_steps = warmup};
  for (const int64_t step : {0, 1, 1999, 3999, 4000, 20000, 99999}) {
    const auto t = static_cast<double>(step + 1);
    const double noam = std::pow(512.0, -0.5) * std::min(std::pow(t, -0.5), t * std::pow(4000.0, -1.5));
    EXPECT_NEAR(learning_rate(schedule, step, 0) / noam, 1.0, 1e-12) << "step " << step;  // relative: double roundings
  }
}

TEST(Schedule, RefusesWhatCannotBe) {
  const std::pair<Schedule, const char*> cases[] = {
      {{.peak = 0.0}, "learning rate is above 0, got 0"},
      {{.peak = 1e-3, .minimum = 1e-2}, "minimum is between 0 and the learning rate 0.001, got 0.01"},
      {{.warmup_steps = -1}, "warmup_steps is 0 or more, got -1"},
      {{.kind = ScheduleKind::inverse_sqrt}, "inverse_sqrt needs warmup_steps of 1 or more, got 0"},
      {{.kind = ScheduleKind::cosine, .warmup_steps = 100, .steps = 100},
       "cosine over 100 steps leaves nothing after a warm-up of 100"},
      {{.kind = ScheduleKind::cosine_epochs}, "cosine_epochs needs 1 epoch or more, got 0"},
  };
  for (const auto& bad : cases) {
    EXPECT_THAT([&] { check(bad.first); }, testing::ThrowsMessage<Error>(testing::HasSubstr(bad.second)));
  }
}

}  // namespace
}  // namespace weft::optim
