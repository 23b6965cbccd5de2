#pragma once

#include <cstdint>

namespace weft::train {

// How the probability that a decoder in training reads the true token falls with the steps (Bengio et al. 2015):
//   none             1
//   linear           1 − rate · step
//   exponential      rate^step
//   inverse_sigmoid  rate / (rate + e^(step / rate))
// none of them below `floor`.
enum class SamplingSchedule { none, linear, exponential, inverse_sigmoid };

struct ScheduledSampling {
  SamplingSchedule schedule = SamplingSchedule::none;
  double rate = 0.0;   // linear: ≥ 0; exponential: in (0, 1]; inverse_sigmoid: ≥ 1
  double floor = 0.0;  // in [0, 1]
};

// weft::Error for a rate or floor outside its range.
void check(const ScheduledSampling& sampling);
// For the optimizer step `step`, counted from 0; in [floor, 1].
double teacher_probability(const ScheduledSampling& sampling, int64_t step);

}  // namespace weft::train
