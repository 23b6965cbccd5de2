#include <fmt/format.h>

#include <memory>

#include "apps/weft/commands.h"
#include "apps/weft/options.h"
#include "apps/weft/progress.h"
#include "weft/base/error.h"
#include "weft/base/logging.h"
#include "weft/train/run.h"

namespace weft::app {

namespace {

struct TrainOptions {
  CommonOptions common;
  std::string recipe;
  std::string out;
  std::string resume;
  std::vector<std::string> overrides;
  std::optional<int64_t> seed;
  bool force = false;
};

// --threads, --precision and --seed are settings of the recipe, so that the run folder remembers them.
std::vector<std::string> all_overrides(const TrainOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  if (options.common.threads > 0) overrides.push_back(fmt::format("train.threads={}", options.common.threads));
  if (!options.common.precision.empty()) overrides.push_back("train.precision=" + options.common.precision);
  if (options.seed) overrides.push_back(fmt::format("train.seed={}", *options.seed));
  return overrides;
}

void print_summary(const train::Summary& summary, bool json) {
  if (json) {
    fmt::print("{}\n", format_json(train::to_json(summary), JsonStyle::compact));
    return;
  }
  fmt::print("{} steps · {:.2f} epochs · {} tokens in {} · {:.0f} tokens/s\ntraining loss {:.4f}", summary.steps,
             summary.epochs, summary.tokens, format_duration(summary.seconds), summary.tokens_per_second,
             summary.train_loss);
  if (summary.valid.is_object()) {
    for (const auto& [name, value] : summary.valid.items()) fmt::print(" · validation {} {}", name, value.dump());
  }
  fmt::print("\n{}\n", summary.run.string());
}

void run_train(const TrainOptions& options) {
  require<UsageError>(options.recipe.empty() != options.resume.empty(),
                      "train: expected a recipe (weft train RECIPE --out FOLDER) or --resume RUN, one of them");
  require<UsageError>(options.resume.empty() || options.out.empty(),
                      "train: --resume goes on in the run's own folder; --out is for new runs");
  catch_interrupts();
  TrainingProgress progress;
  train::Summary summary;
  if (options.resume.empty()) {
    const std::filesystem::path recipe = options.recipe;
    train::NewRun request{.recipe = recipe, .run = options.out, .overrides = all_overrides(options)};
    if (options.out.empty()) request.run = std::filesystem::path("runs") / recipe.stem();
    if (options.force) request.existing = train::ExistingRun::move_aside;
    summary = train::train(request, progress.hooks());
  } else {
    summary = train::resume(options.resume, all_overrides(options), progress.hooks());
  }
  print_summary(summary, options.common.json);
  if (summary.stopped) {
    log_info("stopped after step {}; go on with: weft train --resume {}", summary.steps, summary.run.string());
  }
}

}  // namespace

void add_train(CLI::App& program) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* train = program.add_subcommand("train", "Train a model from a recipe, or go on with a run");
  train->add_option("recipe", options->recipe, "Recipe (TOML)");
  train->add_option("--out", options->out, "Run folder to make; runs/<recipe> if not given");
  train->add_option("--resume", options->resume, "Go on with the run in this folder from its newest checkpoint");
  train->add_option("--set", options->overrides, "Override a setting of the recipe: table.key=value; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  train->add_option("--seed", options->seed, "Seed of everything random, instead of the recipe's");
  train->add_flag("--force", options->force, "Move an earlier run in the folder aside instead of refusing");
  add_precision(*train, options->common);
  add_threads(*train, options->common);
  add_json(*train, options->common);
  train->callback([options] { run_train(*options); });
}

}  // namespace weft::app
