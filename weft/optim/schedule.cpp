#include "weft/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/base/error.h"

namespace weft::optim {

namespace {

// From `peak` at share 0 to `minimum` at share 1 and beyond.
double half_cosine(const Schedule& schedule, double share) {
  const double height = 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(share, 1.0)));
  return schedule.minimum + (schedule.peak - schedule.minimum) * height;
}

}  // namespace

std::string_view name_of(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::constant:
      return "constant";
    case ScheduleKind::cosine:
      return "cosine";
    case ScheduleKind::cosine_epochs:
      return "cosine_epochs";
    case ScheduleKind::inverse_sqrt:
      return "inverse_sqrt";
  }
  fail("schedule: kind {} does not exist", static_cast<int>(kind));
}

void check(const Schedule& schedule) {
  require(schedule.peak > 0.0 && std::isfinite(schedule.peak), "schedule: the learning rate is above 0, got {}",
          schedule.peak);
  require(schedule.minimum >= 0.0 && schedule.minimum <= schedule.peak,
          "schedule: the minimum is between 0 and the learning rate {}, got {}", schedule.peak, schedule.minimum);
  require(schedule.warmup_steps >= 0, "schedule: warmup_steps is 0 or more, got {}", schedule.warmup_steps);
  require(schedule.kind != ScheduleKind::inverse_sqrt || schedule.warmup_steps >= 1,
          "schedule: inverse_sqrt needs warmup_steps of 1 or more, got {}", schedule.warmup_steps);
  require(schedule.kind != ScheduleKind::cosine || schedule.steps > schedule.warmup_steps,
          "schedule: cosine over {} steps leaves nothing after a warm-up of {}", schedule.steps, schedule.warmup_steps);
  require(schedule.kind != ScheduleKind::cosine_epochs || schedule.epochs >= 1,
          "schedule: cosine_epochs needs 1 epoch or more, got {}", schedule.epochs);
}

double learning_rate(const Schedule& schedule, int64_t step, int64_t epoch) {
  const auto s = static_cast<double>(step);
  const auto warmup = static_cast<double>(schedule.warmup_steps);
  if (step < schedule.warmup_steps) return schedule.peak * (s + 1.0) / warmup;
  switch (schedule.kind) {
    case ScheduleKind::constant:
      return schedule.peak;
    case ScheduleKind::cosine:
      return half_cosine(schedule, (s - warmup) / (static_cast<double>(schedule.steps) - warmup));
    case ScheduleKind::cosine_epochs:
      return half_cosine(schedule, static_cast<double>(epoch) / static_cast<double>(schedule.epochs));
    case ScheduleKind::inverse_sqrt:
      return schedule.peak * std::sqrt(warmup / (s + 1.0));
  }
  fail("schedule: kind {} does not exist", static_cast<int>(schedule.kind));
}

double noam_peak(int64_t d_model, int64_t warmup_steps) {
  require(d_model > 0 && warmup_steps > 0, "noam_peak: d_model {} and warmup_steps {} are 1 or more", d_model,
          warmup_steps);
  return 1.0 / std::sqrt(static_cast<double>(d_model) * static_cast<double>(warmup_steps));
}

}  // namespace weft::optim
