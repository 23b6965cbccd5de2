#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "weft/base/json.h"
#include "weft/models/any_model.h"
#include "weft/optim/adamw.h"
#include "weft/optim/schedule.h"
#include "weft/train/checkpoint.h"
#include "weft/train/recipe.h"
#include "weft/train/task.h"

namespace weft::train {

// How long a run is, in optimizer steps of up to gradient_accumulation batches.
struct RunLength {
  int64_t steps = 0;
  int64_t batches = 0;  // of all steps; only the last step of the last epoch may have fewer than its share
};
RunLength length_of(const TrainSettings& settings, int64_t batches_per_epoch);

// The learning rates of a run: the recipe's schedule with its zeros replaced by the run's length. weft::Error, with the
// way out, if the schedule does not fit the run.
optim::Schedule schedule_of(const Recipe& recipe, const RunLength& length, int64_t batches_per_epoch);

// What one optimizer step did.
struct StepReport {
  int64_t step = 0;   // counted from 1: how many have been taken
  double loss = 0.0;  // mean over the counted tokens of the step, before its update
  double learning_rate = 0.0;
  double grad_norm = 0.0;  // global, before clipping
  int64_t tokens = 0;      // of the run so far
  double seconds = 0.0;    // of the run so far, without evaluations and checkpoints
};

// The optimizer steps of a run, one after the other. Everything random is a function of the seed and the step, so a
// trainer that starts from a saved state goes on exactly as the one that saved it.
class Trainer {
 public:
  // All must outlive the trainer. `state`: where to go on; the parameters and `optimizer` are those of that step.
  Trainer(const Recipe& recipe, const Task& task, models::AnyModel& model, optim::AdamW& optimizer,
          TrainingState state);

  bool finished() const { return state_.step >= length_.steps; }
  const RunLength& length() const { return length_; }
  const TrainingState& state() const { return state_; }
  double mean_recent_loss() const;  // of the last 50 steps
  double epochs() const;            // passes over the data so far

  // One step. weft::Error, naming the step and the first place that shows it, if the loss or a gradient is NaN or
  // infinite; the parameters are then those of before the step.
  StepReport step();

 private:
  Context context_of(int64_t batch_index) const;
  // `classes_share`: how much more this batch's share of the step's sequences is than its share of the tokens.
  Variable loss_of(Context& ctx, const data::Batch& batch, double classes_share) const;
  double accumulate_gradients(const std::vector<data::Batch>& batches, int64_t first_batch);
  [[noreturn]] void fail_on_loss(float loss, const data::Batch& batch, int64_t batch_index) const;

  const Recipe& recipe_;
  const Task& task_;
  models::AnyModel& model_;
  optim::AdamW& optimizer_;
  TrainingState state_;
  RunLength length_;
  optim::Schedule schedule_;
  Gradients gradients_;
};

}  // namespace weft::train
