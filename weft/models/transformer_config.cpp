#include "weft/models/transformer_config.h"

#include <array>
#include <cmath>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/suggest.h"
#include "weft/kernels/linear_attention.h"

namespace weft::models {

namespace {

using kernels::Activation;
using kernels::NormKind;
using kernels::RotaryLayout;
using nn::AttentionWeights;
using nn::Initialisation;
using nn::Positions;
using nn::Wiring;

template <typename E>
using Names = std::span<const std::pair<std::string_view, E>>;

constexpr std::pair<std::string_view, Architecture> kArchitectures[] = {
    {"causal_lm", Architecture::causal_lm},
    {"encoder_decoder", Architecture::encoder_decoder},
    {"bert", Architecture::bert}};
constexpr std::pair<std::string_view, Wiring> kWirings[] = {{"pre_norm", Wiring::pre_norm},
                                                            {"post_norm", Wiring::post_norm},
                                                            {"block_input", Wiring::block_input},
                                                            {"b2t", Wiring::b2t}};
constexpr std::pair<std::string_view, Positions> kPositions[] = {
    {"none", Positions::none},      {"sinusoidal", Positions::sinusoidal}, {"learned", Positions::learned},
    {"rotary", Positions::rotary},  {"relative", Positions::relative},     {"alibi", Positions::alibi},
    {"buckets", Positions::buckets}};
constexpr std::pair<std::string_view, AttentionWeights> kAttentionWeights[] = {
    {"softmax", AttentionWeights::softmax}, {"hard", AttentionWeights::hard}, {"linear", AttentionWeights::linear}};
constexpr std::pair<std::string_view, NormKind> kNorms[] = {{"layer_norm", NormKind::layer_norm},
                                                            {"rms_norm", NormKind::rms_norm}};
constexpr std::pair<std::string_view, Activation> kActivations[] = {{"relu", Activation::relu},
                                                                    {"gelu", Activation::gelu},
                                                                    {"gelu_tanh", Activation::gelu_tanh},
                                                                    {"silu", Activation::silu}};
constexpr std::pair<std::string_view, RotaryLayout> kLayouts[] = {{"interleaved", RotaryLayout::interleaved},
                                                                  {"half_split", RotaryLayout::half_split}};
constexpr std::pair<std::string_view, Initialisation> kInitialisations[] = {
    {"normal", Initialisation::normal},
    {"scaled_normal", Initialisation::scaled_normal},
    {"xavier_uniform", Initialisation::xavier_uniform},
    {"xavier_normal", Initialisation::xavier_normal}};

Names<Architecture> names_of(Architecture) { return kArchitectures; }
Names<Wiring> names_of(Wiring) { return kWirings; }
Names<Positions> names_of(Positions) { return kPositions; }
Names<AttentionWeights> names_of(AttentionWeights) { return kAttentionWeights; }
Names<NormKind> names_of(NormKind) { return kNorms; }
Names<Activation> names_of(Activation) { return kActivations; }
Names<RotaryLayout> names_of(RotaryLayout) { return kLayouts; }
Names<Initialisation> names_of(Initialisation) { return kInitialisations; }

// Calls visit(key, member) for every setting of the config's architecture: the one list that reading, writing and
// checking of keys share.
template <typename Config, typename Visit>
void for_each_setting(Config& config, Visit visit) {
  visit("architecture", config.architecture);
  visit("vocab_size", config.vocab_size);
  visit("max_length", config.max_length);
  visit("d_model", config.d_model);
  visit("layers", config.layers);
  visit("heads", config.heads);
  visit("kv_heads", config.kv_heads);
  visit("head_dim", config.head_dim);
  visit("d_ff", config.d_ff);
  visit("wiring", config.wiring);
  visit("norm", config.norm);
  visit("norm_epsilon", config.norm_epsilon);
  visit("final_norm", config.final_norm);
  visit("activation", config.activation);
  visit("gated", config.gated);
  visit("attention_bias", config.attention_bias);
  visit("feed_forward_bias", config.feed_forward_bias);
  visit("norm_bias", config.norm_bias);
  visit("output_bias", config.output_bias);
  visit("positions", config.positions);
  visit("rotary_layout", config.rotary_layout);
  visit("rotary_dim", config.rotary_dim);
  visit("rotary_base", config.rotary_base);
  visit("relative_distance", config.relative_distance);
  visit("bias_buckets", config.bias_buckets);
  visit("bias_max_distance", config.bias_max_distance);
  visit("attention_weights", config.attention_weights);
  visit("tie_embeddings", config.tie_embeddings);
  visit("scale_embeddings", config.scale_embeddings);
  visit("dropout", config.dropout);
  visit("attention_dropout", config.attention_dropout);
  visit("initialisation", config.initialisation);
  visit("initial_deviation", config.initial_deviation);
  if (config.architecture == Architecture::encoder_decoder) {
    visit("decoder_layers", config.decoder_layers);
    visit("decoder_wiring", config.decoder_wiring);
    visit("source_vocab_size", config.source_vocab_size);
    visit("share_embeddings", config.share_embeddings);
  }
  if (config.architecture == Architecture::bert) {
    visit("segments", config.segments);
    visit("embedding_norm", config.embedding_norm);
    visit("masked_transform", config.masked_transform);
    visit("classes", config.classes);
    visit("pooler", config.pooler);
  }
}

void read(const JsonView& value, int64_t& into) { into = value.as<int64_t>(); }
void read(const JsonView& value, double& into) { into = value.as<double>(); }
void read(const JsonView& value, bool& into) { into = value.as<bool>(); }
template <typename E>
requires std::is_enum_v<E>
void read(const JsonView& value, E& into) {
  const auto text = value.as<std::string>();
  std::vector<std::string_view> known;
  for (const auto& [name, choice] : names_of(into)) {
    if (name == text) {
      into = choice;
      return;
    }
    known.push_back(name);
  }
  fail<FormatError>("{}: there is no \"{}\"{}", value.place(), text, suggestion(text, known));
}

void read(const JsonView& value, std::optional<Wiring>& into) { read(value, into.emplace()); }

Json written(int64_t value) { return value; }
Json written(double value) { return value; }
Json written(bool value) { return value; }
template <typename E>
requires std::is_enum_v<E> Json written(E value) {
  for (const auto& [name, choice] : names_of(value)) {
    if (choice == value) return std::string(name);
  }
  fail("model: a setting has no name for value {}", static_cast<int>(value));
}

Json written(const std::optional<Wiring>& value) { return written(value.value()); }

void check_probability(std::string_view key, double value) {
  require(value >= 0.0 && value < 1.0, "model.{}: expected a probability in [0, 1), got {}", key, value);
}

void check_size(std::string_view key, int64_t value, int64_t largest) {
  require(value > 0 && value <= largest, "model.{}: expected a whole number from 1 to {}, got {}", key, largest, value);
}

}  // namespace

std::string_view name_of(Architecture architecture) {
  for (const auto& [name, choice] : kArchitectures) {
    if (choice == architecture) return name;
  }
  fail("model: there is no architecture {}", static_cast<int>(architecture));
}

void TransformerConfig::resolve() {
  constexpr int64_t largest = int64_t{1} << 24;
  check_size("vocab_size", vocab_size, largest);
  check_size("max_length", max_length, largest);
  check_size("d_model", d_model, 1 << 17);
  check_size("layers", layers, 4096);
  check_size("heads", heads, 1 << 14);
  if (kv_heads == 0) kv_heads = heads;
  require(kv_heads > 0 && heads % kv_heads == 0, "model: heads {} is not a multiple of kv_heads {}", heads, kv_heads);
  if (head_dim == 0) {
    require(d_model % heads == 0, "model: d_model {} is not a multiple of heads {}; set head_dim or change one of them",
            d_model, heads);
    head_dim = d_model / heads;
  }
  check_size("head_dim", head_dim, 1 << 14);
  if (d_ff == 0) d_ff = gated ? (8 * d_model / 3 + 31) / 32 * 32 : 4 * d_model;
  check_size("d_ff", d_ff, 1 << 20);
  require(std::isfinite(norm_epsilon) && norm_epsilon > 0.0, "model.norm_epsilon: expected a number above 0, got {}",
          norm_epsilon);
  require(initial_deviation > 0.0 && std::isfinite(initial_deviation),
          "model.initial_deviation: expected a number above 0, got {}", initial_deviation);
  check_probability("dropout", dropout);
  check_probability("attention_dropout", attention_dropout);
  check_positions();
  if (attention_weights == AttentionWeights::linear) check_linear_attention();
  require(activation != Activation::none, "model.activation: expected relu, gelu, gelu_tanh or silu");
  if (architecture == Architecture::encoder_decoder) resolve_encoder_decoder();
  if (architecture == Architecture::bert) resolve_bert();
}

void TransformerConfig::check_positions() {
  if (positions == Positions::rotary) {
    if (rotary_dim == 0) rotary_dim = head_dim;
    require(rotary_dim > 0 && rotary_dim % 2 == 0 && rotary_dim <= head_dim,
            "model.rotary_dim: expected an even number up to head_dim {}, got {}", head_dim, rotary_dim);
    require(std::isfinite(rotary_base) && rotary_base > 1.0, "model.rotary_base: expected a number above 1, got {}",
            rotary_base);
  }
  if (positions == Positions::relative) check_size("relative_distance", relative_distance, 1 << 20);
  if (positions == Positions::buckets) {
    check_size("bias_buckets", bias_buckets, 1 << 16);
    check_size("bias_max_distance", bias_max_distance, int64_t{1} << 24);
    require(bias_buckets >= 4 && bias_max_distance > bias_buckets,
            "model: positions = \"buckets\" needs bias_buckets ≥ 4 and bias_max_distance above it, got {} and {}",
            bias_buckets, bias_max_distance);
  }
}

void TransformerConfig::check_linear_attention() const {
  const bool added =
      positions == Positions::none || positions == Positions::sinusoidal || positions == Positions::learned;
  require(added,
          "model.positions: attention_weights = \"linear\" has no scores that positions = \"{}\" could change; use "
          "\"learned\", \"sinusoidal\" or \"none\"",
          written(positions).get<std::string>());
  require(attention_dropout == 0.0,
          "model.attention_dropout: attention_weights = \"linear\" has no weights to drop, got {}; use dropout",
          attention_dropout);
}

void TransformerConfig::resolve_encoder_decoder() {
  if (decoder_layers == 0) decoder_layers = layers;
  check_size("decoder_layers", decoder_layers, 4096);
  if (!decoder_wiring) decoder_wiring = wiring;
  if (source_vocab_size == 0) source_vocab_size = vocab_size;
  check_size("source_vocab_size", source_vocab_size, int64_t{1} << 24);
  require(!share_embeddings || source_vocab_size == vocab_size,
          "model.share_embeddings: source and target need one vocabulary, got {} and {} entries", source_vocab_size,
          vocab_size);
}

void TransformerConfig::resolve_bert() const {
  require(segments >= 0 && segments <= 1024, "model.segments: expected 0 to 1024, got {}", segments);
  require(classes >= 0 && classes <= 1 << 20, "model.classes: expected 0 to 1048576, got {}", classes);
  require(!pooler || classes > 0, "model.pooler: it stands before the class head, but model.classes is 0");
}

TransformerConfig TransformerConfig::from_json(const JsonView& json) {
  TransformerConfig config;
  if (json.has("architecture")) read(json.at("architecture"), config.architecture);
  std::vector<std::string_view> known = {"model_type"};
  for_each_setting(config, [&](std::string_view key, auto&) { known.push_back(key); });
  json.allow_only(known);
  for_each_setting(config, [&](std::string_view key, auto& member) {
    if (json.has(key)) read(json.at(key), member);
  });
  return config;
}

Json TransformerConfig::to_json() const {
  TransformerConfig complete = *this;
  complete.decoder_wiring = decoder_wiring.value_or(wiring);
  Json json = Json::object();
  for_each_setting(complete,
                   [&](std::string_view key, const auto& member) { json[std::string(key)] = written(member); });
  return json;
}

nn::EmbeddingConfig TransformerConfig::embedding_config() const {
  return {.vocab_size = vocab_size,
          .d_model = d_model,
          .max_length = max_length,
          .positions = positions,
          .scale = scale_embeddings,
          .dropout = dropout,
          .initialisation = {initialisation, initial_deviation, layers},
          .segments = architecture == Architecture::bert ? segments : 0,
          .norm = embedding_norm ? std::optional(norm_config()) : std::nullopt};
}

nn::EmbeddingConfig TransformerConfig::source_embedding_config() const {
  nn::EmbeddingConfig config = embedding_config();
  config.vocab_size = source_vocab_size;
  return config;
}

nn::NormConfig TransformerConfig::norm_config() const {
  return {.d = d_model, .kind = norm, .epsilon = norm_epsilon, .bias = norm_bias};
}

nn::TransformerStackConfig TransformerConfig::stack_config() const {
  const nn::WeightInitialisation weights{initialisation, initial_deviation, layers};
  nn::AttentionConfig attention{.d_model = d_model,
                                .heads = heads,
                                .kv_heads = kv_heads,
                                .head_dim = head_dim,
                                .bias = attention_bias,
                                .dropout = attention_dropout,
                                .rotary = {},
                                .initialisation = weights};
  attention.weights = attention_weights;
  attention.alibi = positions == Positions::alibi;
  if (positions == Positions::rotary) attention.rotary = kernels::Rotary{rotary_layout, rotary_dim, rotary_base};
  if (positions == Positions::relative) attention.relative_distance = relative_distance;
  if (positions == Positions::buckets) {
    attention.buckets = {.buckets = bias_buckets,
                         .max_distance = bias_max_distance,
                         .bidirectional = architecture != Architecture::causal_lm};
  }
  return {.layers = layers,
          .block = {.wiring = wiring,
                    .attention = attention,
                    .cross_attention = {},
                    .feed_forward = {.d_model = d_model,
                                     .d_ff = d_ff,
                                     .activation = activation,
                                     .gated = gated,
                                     .bias = feed_forward_bias,
                                     .initialisation = weights},
                    .norm = norm_config(),
                    .dropout = dropout},
          .final_norm = final_norm};
}

nn::TransformerStackConfig TransformerConfig::decoder_stack_config() const {
  TransformerConfig decoder = *this;
  decoder.layers = decoder_layers;
  decoder.wiring = decoder_wiring.value_or(wiring);
  nn::TransformerStackConfig config = decoder.stack_config();
  config.block.cross_attention = config.block.attention;
  config.block.cross_attention->kind = nn::AttentionKind::cross;
  config.block.cross_attention->rotary.reset();
  config.block.cross_attention->relative_distance = 0;
  config.block.cross_attention->alibi = false;
  config.block.cross_attention->buckets.reset();
  if (config.block.attention.buckets) config.block.attention.buckets->bidirectional = false;
  return config;
}

nn::KvCache TransformerConfig::make_cache(int64_t layers, int64_t batch, int64_t capacity, Precision precision) const {
  if (attention_weights == AttentionWeights::linear) {
    return nn::KvCache::of_states(layers, batch, capacity, kernels::linear_state_size(kv_heads, head_dim, head_dim));
  }
  return {layers, batch, capacity, kv_heads * head_dim, precision == Precision::bf16 ? DType::bf16 : DType::f32};
}

}  // namespace weft::models
