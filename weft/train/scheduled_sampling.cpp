#include "weft/train/scheduled_sampling.h"

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"

namespace weft::train {

void check(const ScheduledSampling& sampling) {
  const double rate = sampling.rate;
  switch (sampling.schedule) {
    case SamplingSchedule::none:
      break;
    case SamplingSchedule::linear:
      require(rate >= 0.0 && std::isfinite(rate), "scheduled sampling: a linear rate is 0 or more, got {}", rate);
      break;
    case SamplingSchedule::exponential:
      require(rate > 0.0 && rate <= 1.0, "scheduled sampling: an exponential rate is in (0, 1], got {}", rate);
      break;
    case SamplingSchedule::inverse_sigmoid:
      require(rate >= 1.0 && std::isfinite(rate), "scheduled sampling: an inverse_sigmoid rate is 1 or more, got {}",
              rate);
      break;
  }
  require(sampling.floor >= 0.0 && sampling.floor <= 1.0, "scheduled sampling: the floor is in [0, 1], got {}",
          sampling.floor);
}

double teacher_probability(const ScheduledSampling& sampling, int64_t step) {
  const auto i = static_cast<double>(step);
  double probability = 1.0;
  switch (sampling.schedule) {
    case SamplingSchedule::none:
      return 1.0;
    case SamplingSchedule::linear:
      probability = 1.0 - sampling.rate * i;
      break;
    case SamplingSchedule::exponential:
      probability = std::pow(sampling.rate, i);
      break;
    case SamplingSchedule::inverse_sigmoid:
      probability = sampling.rate / (sampling.rate + std::exp(i / sampling.rate));
      break;
  }
  return std::clamp(probability, sampling.floor, 1.0);
}

}  // namespace weft::train
