#include "weft/generate/generate.h"

#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <memory>

#include "apps/weft/commands.h"
#include "apps/weft/options.h"
#include "weft/base/json.h"
#include "weft/generate/generation_config.h"
#include "weft/generate/text_stream.h"
#include "weft/models/model_folder.h"
#include "weft/text/tokenizer_file.h"

namespace weft::app {

namespace {

struct TextOptions {
  CommonOptions common;
  std::string run;
  std::optional<std::string> prompt;
  std::optional<int64_t> max_new_tokens;
  std::optional<double> temperature, top_p;
  std::optional<int64_t> top_k;
  uint64_t seed = 0;
};

// A loaded model folder and how to continue text with it.
class TextGenerator {
 public:
  explicit TextGenerator(const TextOptions& options)
      : model_(models::load_causal_lm(options.run)),
        tokenizer_(text::load_tokenizer(options.run)),
        config_(generate::load_generation_config(options.run)),
        json_(options.common.json) {
    settings_.max_new_tokens = options.max_new_tokens.value_or(config_.max_new_tokens.value_or(100));
    settings_.end_id = config_.eos_id;
    settings_.seed = options.seed;
    settings_.precision = precision_of(options.common);
    // Asking for any kind of sampling is asking to sample; a temperature of 0 is the limit in which sampling is greedy.
    const bool asked = options.temperature || options.top_k || options.top_p;
    if (asked && options.temperature.value_or(1.0) != 0.0) {
      settings_.decoding = generate::Decoding::sample;
      settings_.sampling.temperature = options.temperature.value_or(1.0);
      settings_.sampling.top_k = options.top_k.value_or(0);
      settings_.sampling.top_p = options.top_p.value_or(1.0);
    }
  }

  void run(const std::string& prompt) const {
    const std::vector<int32_t> ids = generate::encode_prompt(*tokenizer_, config_, prompt);
    return json_ ? print_json(prompt, ids) : stream(prompt, ids);
  }

 private:
  void stream(const std::string& prompt, const std::vector<int32_t>& ids) const {
    generate::TextStream text(*tokenizer_);
    text.skip(ids);
    fmt::print("{}", prompt);
    generate::generate(model_->model, ids, settings_, [&](int64_t, int32_t id) {
      fmt::print("{}", text.push(id));
      std::fflush(stdout);
      return true;
    });
    fmt::print("{}\n", text.finish());
  }

  void print_json(const std::string& prompt, const std::vector<int32_t>& ids) const {
    const auto start = std::chrono::steady_clock::now();
    const generate::Generated result = generate::generate(model_->model, ids, settings_);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    generate::TextStream text(*tokenizer_);
    text.skip(ids);
    std::string continuation;
    for (const int32_t id : result.ids) continuation += text.push(id);
    continuation += text.finish();
    const bool ended = result.reason == generate::StopReason::end_token;
    const Json line = {{"prompt", prompt},
                       {"text", continuation},
                       {"ids", result.ids},
                       {"stopped_by", ended ? "end_token" : "length"},
                       {"tokens_per_second", static_cast<double>(result.ids.size()) / seconds}};
    fmt::print("{}\n", format_json(line, JsonStyle::compact));
  }

  std::unique_ptr<models::CausalLMWithParameters> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  generate::GenerationConfig config_;
  generate::GenerateOptions settings_;
  bool json_;
};

void run_generate(const TextOptions& options) {
  apply_threads(options.common);
  const TextGenerator generator(options);
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
      "generate", "Continue text with a trained model; greedy unless --temperature, --top-k or --top-p is given");
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
  command->add_option("--seed", options->seed, "Seed of the draws")->capture_default_str();
  add_precision(*command, options->common);
  add_threads(*command, options->common);
  add_json(*command, options->common);
  command->callback([options] { run_generate(*options); });
}

}  // namespace weft::app
