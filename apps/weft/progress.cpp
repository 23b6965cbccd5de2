#include "apps/weft/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "weft/base/logging.h"

namespace weft::app {

namespace {

volatile std::sig_atomic_t interrupt_seen = 0;

void on_interrupt(int) { interrupt_seen = 1; }

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return interrupt_seen != 0; }

std::string format_duration(double seconds) {
  const auto total = static_cast<int64_t>(seconds + 0.5);
  if (total >= 3600) return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

TrainingProgress::TrainingProgress() : terminal_(isatty(STDERR_FILENO) == 1) {}

train::TrainingHooks TrainingProgress::hooks() {
  train::TrainingHooks hooks;
  hooks.on_start = [this](const train::Recipe& recipe, const train::RunLength& length, int64_t first_step) {
    first_step_ = first_step;
    last_step_ = length.steps;
    log_every_ = recipe.train.log_every;
    if (first_step > 0) log_info("resumed after step {} of {}", first_step, length.steps);
  };
  hooks.on_step = [this](const train::StepReport& report) { on_step(report); };
  hooks.on_evaluation = [this](int64_t step, const Json& figures) {
    clear_line();
    log_info("step {}: validation {}", step, format_json(figures, JsonStyle::compact));
  };
  hooks.on_checkpoint = [this](const std::filesystem::path& checkpoint) {
    clear_line();
    log_info("checkpoint {}", checkpoint.string());
  };
  hooks.stop_requested = interrupted;
  return hooks;
}

void TrainingProgress::on_step(const train::StepReport& report) {
  if (first_seconds_ < 0.0) {
    first_seconds_ = report.seconds;
    first_tokens_ = report.tokens;
    first_step_ = report.step;
  }
  const bool last = report.step == last_step_;
  if (terminal_) {
    if (!last && report.seconds - drawn_at_ < 0.1) return;
    drawn_at_ = report.seconds;
    redraw(report);
    if (last) fmt::print(stderr, "\n");
    return;
  }
  // A log file wants few lines: at most one every ten seconds, and the first and the last.
  if (!last && report.step != first_step_ && (report.step % log_every_ != 0 || report.seconds - drawn_at_ < 10.0))
    return;
  drawn_at_ = report.seconds;
  log_info("step {}/{}: loss {:.4f}, learning rate {:.3g}, {:.1f} s", report.step, last_step_, report.loss,
           report.learning_rate, report.seconds);
}

void TrainingProgress::redraw(const train::StepReport& report) const {
  constexpr int width = 24;
  const double done = last_step_ > 0 ? static_cast<double>(report.step) / static_cast<double>(last_step_) : 1.0;
  const int filled = static_cast<int>(done * width);
  const double elapsed = report.seconds - first_seconds_;
  const auto steps = static_cast<double>(report.step - first_step_);
  const double rate = elapsed > 0.0 ? static_cast<double>(report.tokens - first_tokens_) / elapsed : 0.0;
  const double left = steps > 0.0 ? elapsed / steps * static_cast<double>(last_step_ - report.step) : 0.0;
  fmt::print(stderr, "\r\033[K[{}{}] {}/{} · loss {:.4f} · {:.0f} tokens/s · {} left",
             std::string(static_cast<size_t>(filled), '#'), std::string(static_cast<size_t>(width - filled), '.'),
             report.step, last_step_, report.loss, rate, format_duration(left));
  std::fflush(stderr);
}

void TrainingProgress::clear_line() const {
  if (terminal_) fmt::print(stderr, "\r\033[K");
}

}  // namespace weft::app
