#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "weft/kernels/activation.h"
#include "weft/kernels/norm.h"
#include "weft/kernels/rotary.h"

namespace weft::models {

// How a block joins its parts to the residual stream (see nn/transformer_block.h).
enum class Wiring { pre_norm, post_norm, block_input, b2t };
enum class Positions { none, sinusoidal, learned, rotary };
// First values of weight matrices; docs of initialiser functions in models/initialisation.h.
enum class Initialisation { normal, scaled_normal, xavier_uniform, xavier_normal };

// Everything that shapes a Transformer. Zero in kv_heads, head_dim, d_ff or rotary_dim stands for the usual value, which
// resolve() fills in.
struct TransformerConfig {
  int64_t vocab_size = 0;
  int64_t max_length = 1024;  // longest sequence in tokens
  int64_t d_model = 256;
  int64_t layers = 6;
  int64_t heads = 8;
  int64_t kv_heads = 0;  // heads
  int64_t head_dim = 0;  // d_model / heads
  int64_t d_ff = 0;      // 4 · d_model; gated: 8/3 · d_model rounded up to a multiple of 32

  Wiring wiring = Wiring::pre_norm;
  kernels::NormKind norm = kernels::NormKind::layer_norm;
  double norm_epsilon = 1e-5;
  bool final_norm = true;  // a norm after the last block (pre_norm needs it)
  kernels::Activation activation = kernels::Activation::gelu;
  bool gated = false;
  bool attention_bias = true;
  bool feed_forward_bias = true;
  bool norm_bias = true;  // layer_norm only
  bool output_bias = false;

  Positions positions = Positions::learned;
  kernels::RotaryLayout rotary_layout = kernels::RotaryLayout::half_split;
  int64_t rotary_dim = 0;  // head_dim
  double rotary_base = 10000.0;

  bool tie_embeddings = true;
  bool scale_embeddings = false;  // token embeddings times √d_model (Vaswani et al. 2017)
  double dropout = 0.0;           // after embeddings, attention and feed-forward
  double attention_dropout = 0.0;  // of the attention weights

  Initialisation initialisation = Initialisation::scaled_normal;
  double initial_deviation = 0.02;

  // Fills in the zeros and checks every value and their combination; weft::Error names the key, the value and what would do.
  void resolve();
  // The keys have the names of the members; enums are their names as strings. from_json() rejects unknown keys with the closest
  // known one.
  static TransformerConfig from_json(const nlohmann::json& json);
  nlohmann::json to_json() const;
};

}  // namespace weft::models
