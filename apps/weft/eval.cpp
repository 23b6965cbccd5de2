#include <fmt/format.h>

#include <memory>

#include "apps/weft/commands.h"
#include "apps/weft/options.h"
#include "weft/base/json.h"
#include "weft/train/run.h"

namespace weft::app {

namespace {

struct EvalOptions {
  CommonOptions common;
  std::string run;
  std::vector<std::string> overrides;
};

void run_eval(const EvalOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  if (options.common.threads > 0) overrides.push_back(fmt::format("train.threads={}", options.common.threads));
  if (!options.common.precision.empty()) overrides.push_back("train.precision=" + options.common.precision);
  const Json figures = train::evaluate_run(options.run, overrides);
  if (options.common.json) {
    fmt::print("{}\n", format_json(figures, JsonStyle::compact));
    return;
  }
  for (const auto& [name, value] : figures.items()) fmt::print("{}: {}\n", name, value.dump());
}

}  // namespace

void add_eval(CLI::App& program) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App* eval = program.add_subcommand("eval", "Evaluate a trained run on its validation data");
  eval->add_option("run", options->run, "Run folder")->required();
  eval->add_option("--set", options->overrides,
                   "Override a setting of the run's recipe: table.key=value; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_precision(*eval, options->common);
  add_threads(*eval, options->common);
  add_json(*eval, options->common);
  eval->callback([options] { run_eval(*options); });
}

}  // namespace weft::app
