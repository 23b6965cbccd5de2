#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "apps/weft/beam_options.h"
#include "apps/weft/commands.h"
#include "apps/weft/input_lines.h"
#include "apps/weft/model_kind.h"
#include "apps/weft/options.h"
#include "weft/base/error.h"
#include "weft/generate/generation_config.h"
#include "weft/generate/source_decoder.h"
#include "weft/models/model_folder.h"
#include "weft/text/tokenizer_file.h"

namespace weft::app {

namespace {

constexpr int64_t rows_at_once = 64;  // hypotheses of one group of lines: enough for full matrix products

struct TranslateOptions {
  CommonOptions common;
  BeamOptions beam;
  std::string run;
  std::optional<std::string> text;
  std::optional<int64_t> max_new_tokens;
};

// A loaded encoder–decoder model and how to decode with it.
class Translator {
 public:
  explicit Translator(const TranslateOptions& options)
      : options_(options),
        model_(models::load_encoder_decoder(options.run)),
        tokenizer_(text::load_tokenizer(options.run)),
        config_(generate::load_generation_config(options.run)),
        // Greedy decoding is a beam of one.
        search_(options.beam.given() ? beam_search_options(options.beam)
                                     : generate::BeamSearchOptions{.beam_size = 1}) {
    require<FormatError>(config_.bos_id.has_value(),
                         "{}: generation_config.json has no bos_token_id, the token that the decoder starts from",
                         options.run);
    search_.end_id = config_.eos_id;
    search_.max_new_tokens =
        options.max_new_tokens.value_or(config_.max_new_tokens.value_or(model_->model.config().max_length));
  }

  size_t lines_at_once() const { return static_cast<size_t>(std::max<int64_t>(1, rows_at_once / search_.beam_size)); }

  void translate(std::span<const std::string> lines, int64_t first_line) const {
    std::vector<std::vector<int32_t>> sources;
    std::vector<size_t> places(lines.size(), lines.size());  // of each line among the sources; an empty line has none
    for (size_t i = 0; i < lines.size(); ++i) {
      std::vector<int32_t> ids = tokenizer_->encode(lines[i]);
      if (ids.empty()) continue;
      require(static_cast<int64_t>(ids.size()) <= model_->model.config().max_length,
              "translate: line {} has {} tokens, the model takes {}", first_line + static_cast<int64_t>(i), ids.size(),
              model_->model.config().max_length);
      places[i] = sources.size();
      sources.push_back(std::move(ids));
    }
    const std::vector<std::vector<generate::Hypothesis>> found = search(sources);
    for (size_t i = 0; i < lines.size(); ++i) {
      const bool is_empty = places[i] == lines.size();
      print(lines[i], is_empty ? std::vector<generate::Hypothesis>(1) : found[places[i]]);
    }
    std::fflush(stdout);
  }

 private:
  std::vector<std::vector<generate::Hypothesis>> search(const std::vector<std::vector<int32_t>>& sources) const {
    if (sources.empty()) return {};
    generate::SourceDecoder decoder(
        model_->model, sources, {.precision = precision_of(options_.common), .vocab_size = tokenizer_->vocab_size()});
    const std::vector<std::vector<int32_t>> prompts(sources.size(), {*config_.bos_id});
    return generate::beam_search(decoder, prompts, search_);
  }

  void print(const std::string& source, const std::vector<generate::Hypothesis>& hypotheses) const {
    Json list = Json::array();
    for (const generate::Hypothesis& hypothesis : hypotheses) {
      const std::string text = tokenizer_->decode(hypothesis.ids, text::SpecialTokens::skip);
      if (options_.common.json) {
        list.push_back(to_json(hypothesis, text));
      } else {
        if (options_.beam.scores) fmt::print("{:.6f}\t", hypothesis.score);
        fmt::print("{}\n", text);
      }
    }
    if (!options_.common.json) return;
    const Json line = {
        {"source", text::repair_utf8(source)}, {"text", list.at(0).at("text")}, {"hypotheses", std::move(list)}};
    fmt::print("{}\n", format_json(line, JsonStyle::compact));
  }

  const TranslateOptions& options_;
  std::unique_ptr<models::WithParameters<models::EncoderDecoder>> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  generate::GenerationConfig config_;
  generate::BeamSearchOptions search_;
};

void run_translate(const TranslateOptions& options) {
  if (options.beam.given()) beam_search_options(options.beam);
  apply_threads(options.common);
  require_architecture(options.run, models::Architecture::encoder_decoder, "translate");
  const Translator translator(options);
  for_lines(options.text, translator.lines_at_once(),
            [&](std::span<const std::string> lines, int64_t first_line) { translator.translate(lines, first_line); });
}

}  // namespace

void add_translate(CLI::App& program) {
  auto options = std::make_shared<TranslateOptions>();
  CLI::App* command = program.add_subcommand(
      "translate",
      "Turn every line into the target that an encoder-decoder model gives it; greedy unless beam search "
      "is asked for");
  command->add_option("run", options->run, "Run folder or model folder")->required();
  command->add_option("--text", options->text, "Source text; without it, every line of standard input");
  command
      ->add_option("--max-new-tokens", options->max_new_tokens,
                   "Tokens of a result at most; the model's longest sequence unless the model says otherwise")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  add_beam_flags(*command, options->beam);
  add_precision(*command, options->common);
  add_threads(*command, options->common);
  add_json(*command, options->common);
  command->callback([options] { run_translate(*options); });
}

}  // namespace weft::app
