#pragma once

#include <cstdint>
#include <string_view>

namespace weft::optim {

// How the learning rate goes from step to step. With warmup_steps = w the first w steps of every kind climb evenly,
// step s (from 0) at (s + 1)/w of the peak.
//   constant       the peak
//   cosine         per step: from the peak after the warm-up to `minimum` at `steps`, half a cosine (Loshchilov and
//   Hutter 2017) cosine_epochs  the same shape, one value per epoch: minimum + (peak − minimum)(1 +
//   cos(π·epoch/epochs))/2, which is PyTorch's
//                  CosineAnnealingLR(T_max = epochs, eta_min = minimum) stepped once per epoch
//   inverse_sqrt   peak · √(w/(s + 1)) after the warm-up (Vaswani et al. 2017); see noam_peak()
enum class ScheduleKind { constant, cosine, cosine_epochs, inverse_sqrt };

std::string_view name_of(ScheduleKind kind);

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double peak = 1e-3;        // > 0
  double minimum = 0.0;      // in [0, peak]; cosine and cosine_epochs only
  int64_t warmup_steps = 0;  // ≥ 0; inverse_sqrt needs at least 1
  int64_t steps = 0;         // cosine: where the minimum is reached, > warmup_steps
  int64_t epochs = 0;        // cosine_epochs: where the minimum would be reached, ≥ 1
};

// weft::Error if a value is outside its range.
void check(const Schedule& schedule);

// The rate for one optimizer step, counted from 0 over the whole run, that falls into `epoch`, counted from 0. Past the
// end the cosines stay at their minimum. The schedule must pass check().
double learning_rate(const Schedule& schedule, int64_t step, int64_t epoch);

// The peak with which inverse_sqrt becomes the schedule of Vaswani et al. 2017, d_model^−½ · min(t^−½, t ·
// warmup^−3/2).
double noam_peak(int64_t d_model, int64_t warmup_steps);

}  // namespace weft::optim
