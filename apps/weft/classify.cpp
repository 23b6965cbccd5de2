#include <fmt/format.h>

#include <memory>

#include "apps/weft/commands.h"
#include "apps/weft/encoder_input.h"
#include "apps/weft/input_lines.h"
#include "apps/weft/model_kind.h"
#include "apps/weft/options.h"
#include "weft/base/error.h"
#include "weft/base/json.h"

namespace weft::app {

namespace {

constexpr size_t lines_at_once = 32;

struct ClassifyOptions {
  CommonOptions common;
  std::string run;
  std::optional<std::string> text;
};

void classify(const LoadedBert& bert, const ClassifyOptions& options, std::span<const std::string> lines,
              int64_t first_line) {
  std::vector<std::vector<int32_t>> ids;
  for (const std::string& line : lines) ids.push_back(bert.encode(line, first_line + static_cast<int64_t>(ids.size())));
  const models::Bert& model = bert.model->model;
  Context ctx{.precision = precision_of(options.common), .rng = {}};
  const models::TokenInput input = models::packed_input(std::vector<std::span<const int32_t>>(ids.begin(), ids.end()));
  const Tensor logits = model.class_logits(ctx, input, model.hidden(ctx, input)).value().to(DType::f32).contiguous();
  const auto classes = static_cast<size_t>(logits.dim(-1));
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<float> probabilities = probabilities_of(logits.span<float>().subspan(i * classes, classes));
    const size_t best = largest_first(probabilities, 1).front();
    if (!options.common.json) {
      fmt::print("{}\t{:.6f}\n", best, probabilities[best]);
      continue;
    }
    Json all = Json::array();
    for (const float probability : probabilities) all.push_back(json_number(probability));
    const Json result = {{"text", text::repair_utf8(lines[i])},
                         {"class", best},
                         {"probability", json_number(probabilities[best])},
                         {"probabilities", std::move(all)}};
    fmt::print("{}\n", format_json(result, JsonStyle::compact));
  }
}

void run_classify(const ClassifyOptions& options) {
  apply_threads(options.common);
  require_architecture(options.run, models::Architecture::bert, "classify");
  const LoadedBert bert(options.run);
  require(bert.model->model.config().classes > 0,
          "classify: the model in {} has no class head (model.classes is 0); use weft fill-mask", options.run);
  for_lines(options.text, lines_at_once, [&](std::span<const std::string> lines, int64_t first_line) {
    classify(bert, options, lines, first_line);
  });
}

}  // namespace

void add_classify(CLI::App& program) {
  auto options = std::make_shared<ClassifyOptions>();
  CLI::App* command =
      program.add_subcommand("classify", "Give every line a class: its number from 0, a tab, and its probability");
  command->add_option("run", options->run, "Run folder or model folder")->required();
  command->add_option("--text", options->text, "Text; without it, every line of standard input");
  add_precision(*command, options->common);
  add_threads(*command, options->common);
  add_json(*command, options->common);
  command->callback([options] { run_classify(*options); });
}

}  // namespace weft::app
