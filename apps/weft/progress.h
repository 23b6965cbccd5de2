#pragma once

#include <cstdint>
#include <string>

#include "weft/train/run.h"

namespace weft::app {

// What a person sees of a training run, on standard error: one line that is redrawn on a terminal (rate, loss, time
// left), plain lines now and then elsewhere.
class TrainingProgress {
 public:
  TrainingProgress();
  // The hooks that draw; it must outlive the run.
  train::TrainingHooks hooks();

 private:
  void on_step(const train::StepReport& report);
  void redraw(const train::StepReport& report) const;
  void clear_line() const;

  bool terminal_;
  int64_t first_step_ = 0;
  int64_t last_step_ = 0;
  int64_t log_every_ = 1;
  double first_seconds_ = -1.0;
  int64_t first_tokens_ = 0;
  double drawn_at_ = -1.0;  // seconds of the run at the last redraw
};

// From the call on Ctrl-C asks for a stop (once; a second one ends the program at once).
void catch_interrupts();
bool interrupted();

std::string format_duration(double seconds);  // "1:02:03", "4:05"

}  // namespace weft::app
