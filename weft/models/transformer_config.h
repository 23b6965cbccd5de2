#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weft/base/json.h"
#include "weft/nn/embedding.h"
#include "weft/nn/transformer_stack.h"

namespace weft::models {

// Decoder-only (CausalLM), encoder and decoder (EncoderDecoder), encoder-only (Bert).
enum class Architecture { causal_lm, encoder_decoder, bert };
std::string_view name_of(Architecture architecture);

// Everything that shapes a Transformer. Zero in kv_heads, head_dim, d_ff, rotary_dim, decoder_layers or
// source_vocab_size stands for the usual value, which resolve() fills in.
struct TransformerConfig {
  Architecture architecture = Architecture::causal_lm;
  int64_t vocab_size = 0;
  int64_t max_length = 1024;  // longest sequence in tokens
  int64_t d_model = 256;
  int64_t layers = 6;
  int64_t heads = 8;
  int64_t kv_heads = 0;  // heads
  int64_t head_dim = 0;  // d_model / heads
  int64_t d_ff = 0;      // 4 · d_model; gated: 8/3 · d_model rounded up to a multiple of 32

  nn::Wiring wiring = nn::Wiring::pre_norm;
  kernels::NormKind norm = kernels::NormKind::layer_norm;
  double norm_epsilon = 1e-5;
  bool final_norm = true;  // a norm after the last block (pre_norm needs it)
  kernels::Activation activation = kernels::Activation::gelu;
  bool gated = false;
  bool attention_bias = true;
  bool feed_forward_bias = true;
  bool norm_bias = true;  // layer_norm only
  bool output_bias = false;

  nn::Positions positions = nn::Positions::learned;
  kernels::RotaryLayout rotary_layout = kernels::RotaryLayout::half_split;
  int64_t rotary_dim = 0;  // head_dim
  double rotary_base = 10000.0;
  int64_t relative_distance = 16;   // relative positions: the largest distance told apart
  int64_t bias_buckets = 32;        // bucketed positions: rows of each layer's table
  int64_t bias_max_distance = 128;  // and the distance from which all share the last bucket
  nn::AttentionWeights attention_weights = nn::AttentionWeights::softmax;

  bool tie_embeddings = true;
  bool scale_embeddings = false;   // token embeddings times √d_model (Vaswani et al. 2017)
  double dropout = 0.0;            // after embeddings, attention and feed-forward
  double attention_dropout = 0.0;  // of the attention weights

  nn::Initialisation initialisation = nn::Initialisation::scaled_normal;
  double initial_deviation = 0.02;

  // encoder_decoder only. `layers`, `wiring` and `vocab_size` above are the encoder's layers and wiring and the target
  // vocabulary.
  int64_t decoder_layers = 0;                  // layers
  std::optional<nn::Wiring> decoder_wiring{};  // wiring
  int64_t source_vocab_size = 0;               // vocab_size
  bool share_embeddings = false;               // one embedding for source and target

  // bert only.
  int64_t segments = 0;           // kinds of segment embeddings (sentence A, sentence B); 0: none
  bool embedding_norm = false;    // a norm of the embeddings' sum (Devlin et al. 2018)
  bool masked_transform = false;  // dense, activation and norm before the output projection of the masked-token head
  int64_t classes = 0;            // of the class head on the first position; 0: no such head
  bool pooler = false;            // dense and tanh before the class head

  // Fills in the zeros and checks every value and their combination; weft::Error names the key, the value and what
  // would do.
  void resolve();
  // An object whose keys have the names of the members; enums are their names as strings. Absent keys keep their
  // defaults; unknown ones, and those of another architecture, are refused with the closest known one (`model_type` is
  // left to the reader of the file).
  static TransformerConfig from_json(const JsonView& json);
  Json to_json() const;

  // The same, as the layers take it.
  nn::EmbeddingConfig embedding_config() const;
  nn::EmbeddingConfig source_embedding_config() const;  // encoder_decoder
  nn::TransformerStackConfig stack_config() const;
  nn::TransformerStackConfig decoder_stack_config() const;  // encoder_decoder
  nn::NormConfig norm_config() const;
  // The memory of incremental decoding of `layers` layers of self-attention, for `batch` sequences of up to `capacity`
  // tokens.
  nn::KvCache make_cache(int64_t layers, int64_t batch, int64_t capacity, Precision precision) const;

 private:
  void check_positions();
  void check_linear_attention() const;
  void resolve_encoder_decoder();
  void resolve_bert() const;
};

}  // namespace weft::models
