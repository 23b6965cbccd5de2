#include "weft/train/run.h"

#include <algorithm>
#include <optional>

#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/base/logging.h"
#include "weft/base/threads.h"
#include "weft/text/tokenizer_file.h"
#include "weft/train/evaluate.h"
#include "weft/train/metrics.h"
#include "weft/train/recipe_fields.h"
#include "weft/train/report.h"
#include "weft/train/samples.h"

namespace weft::train {

namespace fs = std::filesystem;

namespace {

// Names that begin with a dot are what an interrupted write left: nothing of value.
bool holds_something(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (!entry.path().filename().string().starts_with('.')) return true;
  }
  return false;
}

void move_aside(const fs::path& run) {
  for (int number = 1;; ++number) {
    fs::path aside = run.lexically_normal();
    if (!aside.has_filename()) aside = aside.parent_path();
    aside += number == 1 ? ".old" : fmt::format(".old-{}", number);
    if (fs::exists(aside)) continue;
    rename_durably(run, aside);
    log_info("{} is now {}", run.string(), aside.string());
    return;
  }
}

void make_run_folder(const NewRun& request) {
  std::error_code ignored;
  const fs::path& run = request.run;
  require<UsageError>(!run.empty(), "train: expected a folder for the run, got an empty name");
  require<IoError>(!fs::exists(run, ignored) || fs::is_directory(run, ignored), "{}: expected a folder, this is a file",
                   run.string());
  if (holds_something(run)) {
    const FolderLock not_being_written(run);
    require(
        request.existing == ExistingRun::move_aside,
        "{}: there is something in this folder already; go on with that run by --resume {}, choose another folder by "
        "--out, or keep it under another name by --force",
        run.string(), run.string());
    move_aside(run);
  }
  make_folders(run);
}

void use_threads(const TrainSettings& settings) {
  if (settings.threads > 0) set_thread_count(static_cast<int>(settings.threads));
}

std::string fingerprint_of(const Task& task) { return fmt::format("{:016x}", task.training->fingerprint()); }

std::string_view task_name(const Recipe& recipe) {
  const auto named = [&](const auto& entry) { return entry.second == recipe.task.name; };
  return std::ranges::find_if(task_names, named)->first;
}

// One session of a run, from its newest checkpoint to its end or until it is stopped.
class Session {
 public:
  Session(const fs::path& run, const Recipe& recipe, Task task, const TrainingHooks& hooks)
      : run_(run),
        recipe_(recipe),
        hooks_(hooks),
        task_(std::move(task)),
        checkpoints_(run),
        first_step_(newest_step()),
        model_(first_step_ ? models::load_parameters(checkpoints_.path_of(*first_step_))
                           : initialise(static_cast<uint64_t>(recipe.train.seed)),
               task_.model),
        optimizer_(model_.parameters(), optimizer_config(recipe.optimizer)),
        trainer_(recipe_, task_, model_, optimizer_, starting_state()),
        metrics_(run / "metrics.jsonl", trainer_.state().step),
        report_(run, task_name(recipe), trainer_.length().steps) {}

  Summary run() {
    write_model_folder();
    if (hooks_.on_start) hooks_.on_start(recipe_, trainer_.length(), trainer_.state().step);
    if (!first_step_) save();
    bool stopped = false;
    while (!trainer_.finished() && !stopped) {
      step();
      stopped = hooks_.stop_requested && hooks_.stop_requested();
    }
    if (checkpointed_ != trainer_.state().step) save();
    stopped = stopped && !trainer_.finished();
    report_.write(stopped ? RunStatus::stopped : RunStatus::finished, ReportWrite::now);
    return summary(stopped);
  }

 private:
  std::optional<int64_t> newest_step() {
    checkpoints_.clean();
    const std::vector<int64_t> steps = checkpoints_.steps();
    return steps.empty() ? std::nullopt : std::optional(steps.back());
  }

  static optim::AdamWConfig optimizer_config(const OptimizerSettings& settings) {
    return {.beta1 = settings.beta1,
            .beta2 = settings.beta2,
            .epsilon = settings.epsilon,
            .weight_decay = settings.weight_decay,
            .decay_scope = settings.decay};
  }

  TrainingState starting_state() {
    if (!first_step_) return {.recent_losses = {}, .data_fingerprint = fingerprint_of(task_)};
    TrainingState state = checkpoints_.load_state(*first_step_);
    require(state.data_fingerprint == fingerprint_of(task_),
            "resume: the training data is not that with which {} began; give it back its data, or begin a new run",
            run_.string());
    checkpoints_.load_optimizer(*first_step_, optimizer_);
    checkpointed_ = state.step;
    return state;
  }

  void write_model_folder() const {
    models::save_config(run_, task_.model);
    text::save_tokenizer(*task_.tokenizer, run_);
    generate::save_generation_config(run_, task_.generation);
    // Resuming repairs what was killed between a checkpoint and the copy of its weights.
    if (first_step_) {
      copy_file_atomically(checkpoints_.path_of(*first_step_) / "model.safetensors", run_ / "model.safetensors");
    }
  }

  void step() {
    const StepReport report = take_step();
    const int64_t step = report.step;
    const auto is_due = [&](int64_t every) { return every > 0 && step % every == 0; };
    if (is_due(recipe_.train.log_every) || trainer_.finished()) {
      metrics_.write({{"step", step},
                      {"loss", json_number(static_cast<float>(report.loss))},
                      {"learning_rate", report.learning_rate},
                      {"grad_norm", json_number(static_cast<float>(report.grad_norm))},
                      {"tokens", report.tokens},
                      {"seconds", report.seconds}});
    }
    if (hooks_.on_step) hooks_.on_step(report);
    if (is_due(recipe_.train.eval_every) || trainer_.finished()) evaluate_now();
    if (is_due(recipe_.train.checkpoint_every)) save();
  }

  StepReport take_step() {
    try {
      return trainer_.step();
    } catch (const Error& error) {
      report_.write(RunStatus::failed, ReportWrite::now);
      const std::vector<int64_t> steps = checkpoints_.steps();
      fail("{}; the last good checkpoint is {}; a lower optimizer.learning_rate or train.clip_norm may help",
           error.what(), steps.empty() ? "none" : checkpoints_.path_of(steps.back()).string());
    }
  }

  void evaluate_now() {
    valid_ = evaluate(model_, task_, {.precision = recipe_.train.precision, .batches = recipe_.train.eval_batches});
    metrics_.write({{"step", trainer_.state().step},
                    {"valid", valid_},
                    {"samples", draw_samples(model_, task_, recipe_.train.precision)}});
    report_.write(RunStatus::running, ReportWrite::if_due);
    if (hooks_.on_evaluation) hooks_.on_evaluation(trainer_.state().step, valid_);
  }

  void save() {
    metrics_.sync();
    checkpoints_.save(model_.parameters(), optimizer_, trainer_.state(), recipe_.train.keep_checkpoints);
    checkpointed_ = trainer_.state().step;
    report_.write(RunStatus::running, ReportWrite::if_due);
    if (hooks_.on_checkpoint) hooks_.on_checkpoint(checkpoints_.path_of(checkpointed_));
  }

  Summary summary(bool stopped) {
    const TrainingState& state = trainer_.state();
    // A run that was finished before this session has its figures in metrics.jsonl already.
    if (!stopped && valid_.is_null()) {
      valid_ = evaluate(model_, task_, {.precision = recipe_.train.precision, .batches = recipe_.train.eval_batches});
    }
    return {.steps = state.step,
            .epochs = trainer_.epochs(),
            .tokens = state.tokens,
            .seconds = state.seconds,
            .tokens_per_second = state.seconds > 0.0 ? static_cast<double>(state.tokens) / state.seconds : 0.0,
            .train_loss = trainer_.mean_recent_loss(),
            .valid = stopped ? Json() : valid_,
            .run = run_,
            .stopped = stopped};
  }

  fs::path run_;
  Recipe recipe_;
  const TrainingHooks& hooks_;
  Task task_;
  Checkpoints checkpoints_;
  std::optional<int64_t> first_step_;  // of this session; none: the run begins
  models::AnyModel model_;
  optim::AdamW optimizer_;
  int64_t checkpointed_ = -1;  // the step of the newest checkpoint
  Trainer trainer_;
  MetricsLog metrics_;
  RunReport report_;
  Json valid_;
};

Recipe recipe_of(const fs::path& run, const std::vector<std::string>& overrides) {
  const fs::path path = run / "recipe.toml";
  std::error_code ignored;
  require<IoError>(fs::exists(path, ignored),
                   "{}: this is no run folder: it has no recipe.toml; name a folder that weft train has made",
                   run.string());
  return read_recipe(path, overrides);
}

// The recipe with its data file as an absolute path, so that the run can be resumed from any folder.
Recipe with_found_data(Recipe recipe, const fs::path& recipe_path) {
  if (recipe.task.name == TaskKind::language_model) {
    recipe.data.file = find_data_file(recipe.data.file, recipe_path).string();
    std::string& tokenizer = recipe.tokenizer.path;
    if (!tokenizer.empty()) tokenizer = find_data_file(tokenizer, recipe_path, "tokenizer.path").string();
  }
  return recipe;
}

// The task, and the certainty that its schedule can run: before anything is written.
Task checked_task(const Recipe& recipe) {
  use_threads(recipe.train);
  Task task = make_task(recipe);
  const int64_t batches_per_epoch = task.training->batches_per_epoch();
  schedule_of(recipe, length_of(recipe.train, batches_per_epoch), batches_per_epoch);
  return task;
}

}  // namespace

Json to_json(const Summary& summary) {
  Json json = {{"steps", summary.steps},
               {"epochs", summary.epochs},
               {"tokens", summary.tokens},
               {"seconds", summary.seconds},
               {"tokens_per_second", summary.tokens_per_second},
               {"train_loss", summary.train_loss},
               {"valid", summary.valid},
               {"run", summary.run.string()}};
  if (summary.stopped) json["stopped"] = true;
  return json;
}

Summary train(const NewRun& request, const TrainingHooks& hooks) {
  const Recipe recipe = with_found_data(read_recipe(request.recipe, request.overrides), request.recipe);
  Task task = checked_task(recipe);
  make_run_folder(request);
  const FolderLock lock(request.run);
  write_file_atomically(request.run / "recipe.toml", format_recipe(recipe));
  return Session(request.run, recipe, std::move(task), hooks).run();
}

Summary resume(const fs::path& run, const std::vector<std::string>& overrides, const TrainingHooks& hooks) {
  const Recipe before = recipe_of(run, {});
  const Recipe recipe = with_found_data(recipe_of(run, overrides), run / "recipe.toml");
  require_resumable(before, recipe);
  const FolderLock lock(run);
  Session session(run, recipe, checked_task(recipe), hooks);
  write_file_atomically(run / "recipe.toml", format_recipe(recipe));
  return session.run();
}

Json evaluate_run(const fs::path& run, const std::vector<std::string>& overrides) {
  const Recipe recipe = with_found_data(recipe_of(run, overrides), run / "recipe.toml");
  use_threads(recipe.train);
  const Task task = make_task(recipe, text::load_tokenizer(run));
  const models::AnyModel model = models::load_model(run);
  return evaluate(model, task, {.precision = recipe.train.precision, .batches = recipe.train.eval_batches});
}

}  // namespace weft::train
