#include "weft/generate/generate.h"

#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <memory>

#include "apps/weft/beam_options.h"
#include "apps/weft/commands.h"
#include "apps/weft/model_kind.h"
#include "apps/weft/options.h"
#include "weft/base/error.h"
#include "weft/base/json.h"
#include "weft/generate/causal_decoder.h"
#include "weft/generate/generation_config.h"
#include "weft/generate/text_stream.h"
#include "weft/models/model_folder.h"
#include "weft/text/tokenizer_file.h"

namespace weft::app {

namespace {

struct TextOptions {
  CommonOptions common;
  BeamOptions beam;
  std::string run;
  std::optional<std::string> prompt;
  std::optional<int64_t> max_new_tokens;
  std::optional<double> temperature, top_p;
  std::optional<int64_t> top_k;
  std::optional<uint64_t> seed;

  // Asking for any kind of sampling is asking to sample; a temperature of 0 is the limit in which sampling is greedy.
  bool samples() const { return (temperature || top_k || top_p) && temperature.value_or(1.0) != 0.0; }
};

// A loaded model folder and how to continue text with it.
class TextGenerator {
 public:
  explicit TextGenerator(const TextOptions& options)
      : options_(options),
        model_(models::load_causal_lm(options.run)),
        tokenizer_(text::load_tokenizer(options.run)),
        config_(generate::load_generation_config(options.run)),
        max_new_tokens_(options.max_new_tokens.value_or(config_.max_new_tokens.value_or(100))),
        decoder_(model_->model, {.precision = precision_of(options.common), .vocab_size = tokenizer_->vocab_size()}) {}

  void run(const std::string& prompt) {
    const std::vector<int32_t> ids = generate::encode_prompt(*tokenizer_, config_, prompt);
    if (options_.beam.given()) {
      search(prompt, ids);
    } else if (options_.common.json) {
      print_json(prompt, ids);
    } else {
      stream(prompt, ids);
    }
  }

 private:
  generate::GenerateOptions settings() const {
    generate::GenerateOptions settings{.max_new_tokens = max_new_tokens_, .end_id = config_.eos_id};
    settings.seed = options_.seed.value_or(0);
    if (options_.samples()) {
      settings.decoding = generate::Decoding::sample;
      settings.sampling.temperature = options_.temperature.value_or(1.0);
      settings.sampling.top_k = options_.top_k.value_or(0);
      settings.sampling.top_p = options_.top_p.value_or(1.0);
    }
    return settings;
  }

  void stream(const std::string& prompt, const std::vector<int32_t>& ids) {
    generate::TextStream text(*tokenizer_);
    text.skip(ids);
    fmt::print("{}", prompt);
    generate::generate(decoder_, ids, settings(), [&](int64_t, int32_t id) {
      fmt::print("{}", text.push(id));
      std::fflush(stdout);
      return true;
    });
    fmt::print("{}\n", text.finish());
  }

  void print_json(const std::string& prompt, const std::vector<int32_t>& ids) {
    const auto start = std::chrono::steady_clock::now();
    const generate::Generated result = generate::generate(decoder_, ids, settings());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const Json line = {{"prompt", prompt},
                       {"text", continuation(ids, result.ids)},
                       {"ids", result.ids},
                       {"stopped_by", name_of(result.reason)},
                       {"tokens_per_second", static_cast<double>(result.ids.size()) / seconds}};
    fmt::print("{}\n", format_json(line, JsonStyle::compact));
  }

  void search(const std::string& prompt, const std::vector<int32_t>& ids) {
    generate::BeamSearchOptions search = beam_search_options(options_.beam);
    search.max_new_tokens = max_new_tokens_;
    search.end_id = config_.eos_id;
    const auto found = generate::beam_search(decoder_, std::span(&ids, 1), search);
    Json line = {{"prompt", prompt}, {"hypotheses", Json::array()}};
    for (const generate::Hypothesis& hypothesis : found.front()) {
      const std::string text = continuation(ids, hypothesis.ids);
      if (options_.common.json) {
        line["hypotheses"].push_back(to_json(hypothesis, text));
      } else {
        if (options_.beam.scores) fmt::print("{:.6f}\t", hypothesis.score);
        fmt::print("{}{}\n", prompt, text);
      }
    }
    if (!options_.common.json) return;
    line["text"] = line["hypotheses"].at(0).at("text");
    fmt::print("{}\n", format_json(line, JsonStyle::compact));
  }

  // The text of `added` as it stands behind the prompt.
  std::string continuation(const std::vector<int32_t>& prompt, const std::vector<int32_t>& added) const {
    generate::TextStream stream(*tokenizer_);
    stream.skip(prompt);
    std::string text;
    for (const int32_t id : added) text += stream.push(id);
    return text + stream.finish();
  }

  const TextOptions& options_;
  std::unique_ptr<models::WithParameters<models::CausalLM>> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  generate::GenerationConfig config_;
  int64_t max_new_tokens_;
  generate::CausalDecoder decoder_;
};

void run_generate(const TextOptions& options) {
  const bool sampling = options.samples() || options.seed;
  require<UsageError>(!(options.beam.given() && sampling),
                      "generate: --beam-size and its kind search, --temperature, --top-k, --top-p and --seed draw: "
                      "expected one of them");
  require<UsageError>(options.beam.given() || !options.beam.scores,
                      "generate: --scores are those of beam search; add --beam-size");
  if (options.beam.given()) beam_search_options(options.beam);
  apply_threads(options.common);
  require_architecture(options.run, models::Architecture::causal_lm, "generate");
  TextGenerator generator(options);
  if (options.prompt) {
    generator.run(*options.prompt);
    return;
  }
  for (std::string line; std::getline(std::cin, line);) generator.run(line);
}

}  // namespace

void add_generate(CLI::App& program) {
  auto options = std::make_shared<TextOptions>();
  CLI::App* command = program.add_subcommand(
      "generate",
      "Continue text with a trained model; greedy unless sampling (--temperature, --top-k, --top-p) or beam search is "
      "asked for");
  command->add_option("run", options->run, "Run folder or model folder")->required();
  command->add_option("--prompt", options->prompt, "Text to continue; without it, every line of standard input");
  command
      ->add_option("--max-new-tokens", options->max_new_tokens,
                   "Tokens to add at most; 100 unless the model says otherwise")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  command->add_option("--temperature", options->temperature, "Sample; below 1 sharper, above 1 flatter, 0 greedy")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--top-k", options->top_k, "Sample from the k most probable tokens; 0 for all")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  command->add_option("--top-p", options->top_p, "Sample from the most probable tokens that together reach p")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--seed", options->seed, "Seed of the draws; 0 if not given");
  add_beam_flags(*command, options->beam);
  add_precision(*command, options->common);
  add_threads(*command, options->common);
  add_json(*command, options->common);
  command->callback([options] { run_generate(*options); });
}

}  // namespace weft::app
