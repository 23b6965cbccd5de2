#include "weft/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "weft/base/error.h"
#include "weft/kernels/elementwise.h"
#include "weft/optim/clipping.h"
#include "weft/train/loss.h"

namespace weft::train {

namespace {

constexpr size_t recent_steps = 50;            // whose mean loss is a run's train_loss
constexpr uint64_t dropout_site = 0x64726f70;  // the random stream of training's forward passes

std::optional<std::string> first_broken_parameter(const ParameterStore& parameters) {
  for (const Parameter& parameter : parameters) {
    const Tensor& value = parameter.value();
    if (kernels::first_non_finite(value.data<float>(), value.numel()) >= 0) return parameter.name();
  }
  return std::nullopt;
}

}  // namespace

RunLength length_of(const TrainSettings& settings, int64_t batches_per_epoch) {
  const int64_t accumulation = settings.gradient_accumulation;
  RunLength length{.steps = settings.steps, .batches = settings.steps * accumulation};
  if (settings.epochs == 0) return length;
  const int64_t batches = settings.epochs * batches_per_epoch;
  const int64_t steps = (batches + accumulation - 1) / accumulation;
  return settings.steps == 0 || steps <= settings.steps ? RunLength{steps, batches} : length;
}

optim::Schedule schedule_of(const Recipe& recipe, const RunLength& length, int64_t batches_per_epoch) {
  const int64_t epochs = (length.batches + batches_per_epoch - 1) / batches_per_epoch;
  optim::Schedule schedule{.kind = recipe.schedule.name,
                           .peak = recipe.optimizer.learning_rate,
                           .minimum = recipe.schedule.minimum,
                           .warmup_steps = recipe.schedule.warmup_steps,
                           .steps = recipe.schedule.steps > 0 ? recipe.schedule.steps : length.steps,
                           .epochs = recipe.schedule.epochs > 0 ? recipe.schedule.epochs : epochs};
  try {
    optim::check(schedule);
  } catch (const Error& error) {
    fail("{}; change [schedule], or the run's steps or epochs", error.what());
  }
  return schedule;
}

Trainer::Trainer(const Recipe& recipe, const Task& task, models::AnyModel& model, optim::AdamW& optimizer,
                 TrainingState state)
    : recipe_(recipe),
      task_(task),
      model_(model),
      optimizer_(optimizer),
      state_(std::move(state)),
      length_(length_of(recipe.train, task.training->batches_per_epoch())),
      schedule_(schedule_of(recipe, length_, task.training->batches_per_epoch())) {}

double Trainer::mean_recent_loss() const {
  const auto& losses = state_.recent_losses;
  return losses.empty() ? 0.0 : std::reduce(losses.begin(), losses.end()) / static_cast<double>(losses.size());
}

double Trainer::epochs() const {
  const int64_t batches = std::min(state_.step * recipe_.train.gradient_accumulation, length_.batches);
  return static_cast<double>(batches) / static_cast<double>(task_.training->batches_per_epoch());
}

Context Trainer::context_of(int64_t batch_index) const {
  const Rng rng = Rng{static_cast<uint64_t>(recipe_.train.seed)}.split(dropout_site);
  return {.training = true, .precision = recipe_.train.precision, .rng = rng.split(static_cast<uint64_t>(batch_index))};
}

Variable Trainer::loss_of(Context& ctx, const data::Batch& batch, double classes_share) const {
  const TrainSettings& settings = recipe_.train;
  return train::loss_of(ctx, model_, batch,
                        {.label_smoothing = static_cast<float>(settings.label_smoothing),
                         .token_weight = static_cast<float>(settings.token_weight),
                         .class_weight = static_cast<float>(settings.class_weight * classes_share),
                         .teacher_probability = teacher_probability(settings.scheduled_sampling, state_.step)});
}

void Trainer::fail_on_loss(float loss, const data::Batch& batch, int64_t batch_index) const {
  std::string place = "no single operation shows it";
  if (const std::optional<std::string> parameter = first_broken_parameter(model_.parameters())) {
    place = fmt::format("the parameter {} holds a NaN or infinity", *parameter);
  } else {
    Context ctx = context_of(batch_index);
    ctx.check_finite = true;
    try {
      loss_of(ctx, batch, 1.0);
    } catch (const Error& error) {
      place = error.what();
    }
  }
  fail("training: step {}: the loss is {}; first seen: {}", state_.step + 1, loss, place);
}

double Trainer::accumulate_gradients(const std::vector<data::Batch>& batches, int64_t first_batch) {
  int64_t counted = 0, sequences = 0;
  for (const data::Batch& batch : batches) {
    counted += batch.counted;
    sequences += batch.sequences();
  }
  require(counted > 0, "training: step {}: its batches have no token to predict", state_.step + 1);
  gradients_.clear();
  double mean_loss = 0.0;
  for (size_t i = 0; i < batches.size(); ++i) {
    const int64_t index = first_batch + static_cast<int64_t>(i);
    if (batches[i].counted == 0) continue;
    const double share = static_cast<double>(batches[i].counted) / static_cast<double>(counted);
    const double of_sequences = static_cast<double>(batches[i].sequences()) / static_cast<double>(sequences);
    Tape tape;
    Context ctx = context_of(index);
    ctx.tape = &tape;
    const Variable loss = loss_of(ctx, batches[i], of_sequences / share);
    const float value = loss.value().item();
    if (!std::isfinite(value)) fail_on_loss(value, batches[i], index);
    mean_loss += share * static_cast<double>(value);
    tape.backward(loss, gradients_, static_cast<float>(share));
  }
  return mean_loss;
}

StepReport Trainer::step() {
  require(!finished(), "training: all {} steps are done", length_.steps);
  const auto begin = std::chrono::steady_clock::now();
  const int64_t first_batch = state_.step * recipe_.train.gradient_accumulation;
  const int64_t end_batch = std::min(first_batch + recipe_.train.gradient_accumulation, length_.batches);
  std::vector<data::Batch> batches;
  for (int64_t index = first_batch; index < end_batch; ++index) batches.push_back(task_.training->batch(index));

  const double loss = accumulate_gradients(batches, first_batch);
  const double norm = gradients_.global_norm();
  if (!std::isfinite(norm)) {
    const Parameter* parameter = gradients_.first_non_finite(model_.parameters());
    fail("training: step {}: the gradient norm is {} with a loss of {}; first seen in the gradient of {}",
         state_.step + 1, norm, loss,
         parameter == nullptr ? "no single parameter: the squares overflow" : parameter->name());
  }
  const int64_t epoch = first_batch / task_.training->batches_per_epoch();
  const double rate = optim::learning_rate(schedule_, state_.step, epoch);
  optimizer_.step(model_.parameters(), gradients_,
                  {.learning_rate = rate, .gradient_scale = optim::clip_scale(norm, recipe_.train.clip_norm)});

  ++state_.step;
  for (const data::Batch& batch : batches) state_.tokens += batch.tokens();
  state_.recent_losses.push_back(loss);
  if (state_.recent_losses.size() > recent_steps) state_.recent_losses.erase(state_.recent_losses.begin());
  state_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {state_.step, loss, rate, norm, state_.tokens, state_.seconds};
}

}  // namespace weft::train
