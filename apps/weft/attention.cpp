#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <memory>

#include "apps/weft/commands.h"
#include "apps/weft/encoder_input.h"
#include "apps/weft/options.h"
#include "weft/base/error.h"
#include "weft/base/json.h"
#include "weft/generate/attention_maps.h"
#include "weft/generate/generate.h"
#include "weft/generate/generation_config.h"
#include "weft/generate/source_decoder.h"
#include "weft/models/model_folder.h"
#include "weft/text/tokenizer_file.h"

namespace weft::app {

namespace {

using generate::AttentionMap;
using generate::AttentionMaps;

constexpr int64_t most_weights = int64_t{1} << 28;  // 1 GiB of them

struct AttentionOptions {
  CommonOptions common;
  std::string run;
  std::optional<std::string> text, target;
  std::string out;
};

std::vector<std::string> names_of(const text::Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::vector<std::string> names;
  for (const int32_t id : ids) names.push_back(tokenizer.token(id));
  return names;
}

models::TokenInput input_of(const std::vector<int32_t>& ids) {
  models::TokenInput input;
  input.ids = Tensor::from<int32_t>(ids, {static_cast<int64_t>(ids.size())});
  return input;
}

void check_length(std::string_view what, const std::vector<int32_t>& ids, const models::TransformerConfig& config) {
  const auto s = static_cast<int64_t>(ids.size());
  require(s >= 1, "attention: the {} has no tokens", what);
  require(s <= config.max_length, "attention: the {} has {} tokens, the model takes {}; give a shorter one", what, s,
          config.max_length);
  require((config.layers + config.decoder_layers) * config.heads * s * s <= most_weights,
          "attention: the weights of {} heads in {} layers over {} tokens are more than fit 1 GiB; give a shorter {}",
          config.heads, config.layers, s, what);
}

Context tracing(const AttentionOptions& options, AttentionTrace& trace) {
  return {.precision = precision_of(options.common), .rng = {}, .trace = &trace};
}

// The one sequence's weights of a trace's entry.
AttentionMap map_of(const AttentionTrace::Entry& entry, std::string_view kind, std::string_view queries,
                    std::string_view keys) {
  const Tensor& weights = entry.weights;
  return {.layer = entry.layer,
          .kind = std::string(kind),
          .queries = std::string(queries),
          .keys = std::string(keys),
          .weights = weights.reshape({weights.dim(1), weights.dim(2), weights.dim(3)})};
}

AttentionMaps causal_maps(const AttentionOptions& options, const std::string& text) {
  const auto model = models::load_causal_lm(options.run);
  const auto tokenizer = text::load_tokenizer(options.run);
  const std::vector<int32_t> ids =
      generate::encode_prompt(*tokenizer, generate::load_generation_config(options.run), text);
  check_length("text", ids, model->model.config());
  AttentionTrace trace;
  Context ctx = tracing(options, trace);
  model->model.logits(ctx, input_of(ids), nullptr, true);
  AttentionMaps maps{.model = options.run, .sequences = {{"text", names_of(*tokenizer, ids)}}};
  for (const AttentionTrace::Entry& entry : trace.entries) maps.maps.push_back(map_of(entry, "causal", "text", "text"));
  return maps;
}

AttentionMaps bert_maps(const AttentionOptions& options, const std::string& text) {
  const LoadedBert bert(options.run);
  const std::vector<int32_t> ids = bert.encode(text);
  check_length("text", ids, bert.model->model.config());
  AttentionTrace trace;
  Context ctx = tracing(options, trace);
  bert.model->model.hidden(ctx, input_of(ids));
  AttentionMaps maps{.model = options.run, .sequences = {{"text", names_of(*bert.tokenizer, ids)}}};
  for (const AttentionTrace::Entry& entry : trace.entries) {
    maps.maps.push_back(map_of(entry, "bidirectional", "text", "text"));
  }
  return maps;
}

// What the decoder reads: the start token, then the given target, or else what the model itself answers.
std::vector<int32_t> target_ids(const AttentionOptions& options, const models::EncoderDecoder& model,
                                const text::Tokenizer& tokenizer, const std::vector<int32_t>& source) {
  const generate::GenerationConfig config = generate::load_generation_config(options.run);
  require<FormatError>(config.bos_id.has_value(),
                       "{}: generation_config.json has no bos_token_id, the token that the decoder starts from",
                       options.run);
  std::vector<int32_t> ids = {*config.bos_id};
  std::vector<int32_t> rest;
  if (options.target) {
    rest = tokenizer.encode(*options.target);
  } else {
    generate::SourceDecoder decoder(model, std::span(&source, 1),
                                    {.precision = precision_of(options.common), .vocab_size = tokenizer.vocab_size()});
    rest = generate::generate(decoder, ids, {.max_new_tokens = model.config().max_length, .end_id = config.eos_id}).ids;
    rest.pop_back();  // the last token is an answer, never read
  }
  ids.insert(ids.end(), rest.begin(), rest.end());
  return ids;
}

AttentionMaps encoder_decoder_maps(const AttentionOptions& options, const std::string& text) {
  const auto loaded = models::load_encoder_decoder(options.run);
  const models::EncoderDecoder& model = loaded->model;
  const auto tokenizer = text::load_tokenizer(options.run);
  const std::vector<int32_t> source = tokenizer->encode(text);
  check_length("text", source, model.config());
  const std::vector<int32_t> target = target_ids(options, model, *tokenizer, source);
  check_length("target", target, model.config());
  AttentionTrace encoder, decoder;
  Context encoding = tracing(options, encoder);
  const models::EncodedSource encoded = model.encode(encoding, input_of(source));
  Context decoding = tracing(options, decoder);
  model.logits(decoding, input_of(target), encoded);

  AttentionMaps maps{.model = options.run,
                     .sequences = {{"source", names_of(*tokenizer, source)}, {"target", names_of(*tokenizer, target)}}};
  for (const AttentionTrace::Entry& entry : encoder.entries) {
    maps.maps.push_back(map_of(entry, "bidirectional", "source", "source"));
  }
  // Every block of the decoder attends to the target first, then to the source.
  for (size_t i = 0; i < decoder.entries.size(); ++i) {
    maps.maps.push_back(i % 2 == 0 ? map_of(decoder.entries[i], "causal", "target", "target")
                                   : map_of(decoder.entries[i], "cross", "target", "source"));
  }
  return maps;
}

AttentionMaps make_maps(const AttentionOptions& options) {
  const models::Architecture architecture = models::load_config(options.run).architecture;
  const bool has_target = architecture == models::Architecture::encoder_decoder;
  require(has_target || !options.target, "attention: --target is for encoder_decoder models, {} has a {}", options.run,
          models::name_of(architecture));
  std::string text = options.text.value_or("");
  if (!options.text) text.assign(std::istreambuf_iterator<char>(std::cin), {});
  AttentionMaps maps = architecture == models::Architecture::causal_lm ? causal_maps(options, text)
                       : has_target                                    ? encoder_decoder_maps(options, text)
                                                                       : bert_maps(options, text);
  maps.architecture = models::name_of(architecture);
  return maps;
}

void run_attention(const AttentionOptions& options) {
  const std::filesystem::path out = options.out;
  require<UsageError>(out.extension() == ".json" || out.extension() == ".html",
                      "attention: --out names a file that ends in .json or .html, got {}", options.out);
  apply_threads(options.common);
  const AttentionMaps maps = make_maps(options);
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
  command->add_option("--text", options->text, "The text, or source text; without it, all of standard input");
  command->add_option("--target", options->target,
                      "Target text of an encoder-decoder model; without it, the model's own answer");
  command->add_option("--out", options->out, "File to write: .json for numbers, .html for a page to explore")
      ->required();
  add_precision(*command, options->common);
  add_threads(*command, options->common);
  add_json(*command, options->common);
  command->callback([options] { run_attention(*options); });
}

}  // namespace weft::app
