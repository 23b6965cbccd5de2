#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "weft/base/json.h"
#include "weft/train/recipe.h"
#include "weft/train/trainer.h"

namespace weft::train {

// A run folder is a model folder (config.json, model.safetensors, tokenizer.json, generation_config.json) with
// recipe.toml as resolved, metrics.jsonl and checkpoints/step-N/. Killed at any moment, it can be loaded and resumed.

// Called during a run; those that are empty are not.
struct TrainingHooks {
  std::function<void(const Recipe& recipe, const RunLength& length, int64_t first_step)> on_start;
  std::function<void(const StepReport&)> on_step;
  std::function<void(int64_t step, const Json& figures)> on_evaluation;
  std::function<void(const std::filesystem::path& checkpoint)> on_checkpoint;
  std::function<bool()> stop_requested;  // asked after every step; true: write a checkpoint and return
};

enum class ExistingRun { refuse, move_aside };

struct NewRun {
  std::filesystem::path recipe;
  std::filesystem::path run;             // folder to make
  std::vector<std::string> overrides{};  // "train.steps=200"
  ExistingRun existing =
      ExistingRun::refuse;  // move_aside: an earlier run in the folder is renamed to <run>.old, .old-2 …
};

struct Summary {
  int64_t steps = 0;  // of the whole run, sessions before included, as everything here
  double epochs = 0.0;
  int64_t tokens = 0;
  double seconds = 0.0;            // of training, without evaluations and checkpoints
  double tokens_per_second = 0.0;  // tokens / seconds
  double train_loss = 0.0;         // mean of the last 50 steps
  Json valid;                      // as evaluate(); null if the run was stopped before its end
  std::filesystem::path run;
  bool stopped = false;
};
Json to_json(const Summary& summary);

// Trains from a recipe. weft::Error and its kinds for whatever is wrong with the recipe, the data or the folder, and if
// the numbers break (with the path of the last good checkpoint).
Summary train(const NewRun& request, const TrainingHooks& hooks = {});
// Goes on with a run from its newest checkpoint, or from its start if it has none; with overrides such as
// train.steps=400. The run then has the metrics and weights, bit for bit, of one that was never interrupted (same
// machine, same threads).
Summary resume(const std::filesystem::path& run, const std::vector<std::string>& overrides = {},
               const TrainingHooks& hooks = {});

// The figures of evaluate() for the weights in a run folder, on the validation data of its recipe (with overrides, such
// as data.file=…).
Json evaluate_run(const std::filesystem::path& run, const std::vector<std::string>& overrides = {});

}  // namespace weft::train
