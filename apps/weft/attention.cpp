#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <memory>

#include "apps/weft/commands.h"
#include "apps/weft/options.h"
#include "weft/base/error.h"
#include "weft/base/json.h"
#include "weft/generate/attention_maps.h"
#include "weft/generate/generation_config.h"
#include "weft/models/model_folder.h"
#include "weft/text/tokenizer_file.h"

namespace weft::app {

namespace {

constexpr int64_t most_weights = int64_t{1} << 28;  // 1 GiB of them

struct AttentionOptions {
  CommonOptions common;
  std::string run;
  std::optional<std::string> text;
  std::string out;
};

std::vector<std::string> names_of(const text::Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::vector<std::string> names;
  for (const int32_t id : ids) names.push_back(tokenizer.token(id));
  return names;
}

// The maps of one pass over the text.
generate::AttentionMaps causal_maps(const AttentionOptions& options, const std::string& text) {
  const auto model = models::load_causal_lm(options.run);
  const auto tokenizer = text::load_tokenizer(options.run);
  const std::vector<int32_t> ids =
      generate::encode_prompt(*tokenizer, generate::load_generation_config(options.run), text);
  const models::TransformerConfig& config = model->model.config();
  const auto s = static_cast<int64_t>(ids.size());
  require(s >= 1, "attention: the text has no tokens");
  require(s <= config.max_length, "attention: the text has {} tokens, the model takes {}; give a shorter one", s,
          config.max_length);
  require(config.layers * config.heads * s * s <= most_weights,
          "attention: {} layers of {} heads over {} tokens are more weights than fit 1 GiB; give a shorter text",
          config.layers, config.heads, s);
  AttentionTrace trace;
  Context ctx{.precision = precision_of(options.common), .rng = {}, .trace = &trace};
  model->model.logits(ctx, {.ids = Tensor::from<int32_t>(ids, {s}), .position_ids = {}, .mask = {}}, nullptr, true);

  generate::AttentionMaps maps{.model = options.run,
                               .architecture = "causal_lm",
                               .sequences = {{"text", names_of(*tokenizer, ids)}},
                               .maps = {}};
  for (const AttentionTrace::Entry& entry : trace.entries) {
    maps.maps.push_back({.layer = entry.layer,
                         .kind = "causal",
                         .queries = "text",
                         .keys = "text",
                         .weights = entry.weights.reshape({entry.weights.dim(1), s, s})});
  }
  return maps;
}

void run_attention(const AttentionOptions& options) {
  const std::filesystem::path out = options.out;
  require<UsageError>(out.extension() == ".json" || out.extension() == ".html",
                      "attention: --out names a file that ends in .json or .html, got {}", options.out);
  apply_threads(options.common);
  std::string text = options.text.value_or("");
  if (!options.text) text.assign(std::istreambuf_iterator<char>(std::cin), {});
  const generate::AttentionMaps maps = causal_maps(options, text);
  if (out.extension() == ".json") {
    generate::write_attention_json(out, maps);
  } else {
    generate::write_attention_page(out, maps);
  }
  if (!options.common.json) {
    fmt::print("{} maps in {}\n", maps.maps.size(), options.out);
    return;
  }
  Json summary = {{"out", options.out}, {"maps", maps.maps.size()}, {"tokens", Json::object()}};
  for (const auto& [name, tokens] : maps.sequences) summary["tokens"][name] = tokens.size();
  fmt::print("{}\n", format_json(summary, JsonStyle::compact));
}

}  // namespace

void add_attention(CLI::App& program) {
  auto options = std::make_shared<AttentionOptions>();
  CLI::App* command =
      program.add_subcommand("attention", "Write the attention maps of every layer and head of a model for a text");
  command->add_option("run", options->run, "Run folder or model folder")->required();
  command->add_option("--text", options->text, "The text; without it, all of standard input");
  command->add_option("--out", options->out, "File to write: .json for numbers, .html for a page to explore")
      ->required();
  add_precision(*command, options->common);
  add_threads(*command, options->common);
  add_json(*command, options->common);
  command->callback([options] { run_attention(*options); });
}

}  // namespace weft::app
