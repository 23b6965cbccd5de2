#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/autograd/context.h"
#include "weft/models/output_projection.h"
#include "weft/models/token_input.h"
#include "weft/models/transformer_config.h"
#include "weft/nn/embedding.h"
#include "weft/nn/transformer_stack.h"

namespace weft::models {

// Source sequences as the decoder sees them.
struct EncodedSource {
  Variable hidden{};                                   // (source tokens, d_model), or (b, s, d_model)
  std::vector<kernels::AttentionSegment> sequences{};  // k_begin and k_length: the rows of each source
  std::vector<Variable> projected{};                   // per decoder block its keys and values; empty: made when used
};

// The Transformer of Vaswani et al. 2017: an encoder, and a decoder that attends to its own earlier tokens and to the
// encoder's output. Norm placement, embeddings shared or not, tied or not, are settings of TransformerConfig.
class EncoderDecoder {
 public:
  // `config` of architecture encoder_decoder. Parameter paths: encoder.embedding.…, decoder.embedding.… (shared:
  // embedding.…), encoder.blocks.<i>.…, decoder.blocks.<i>.…, encoder.final_norm.…, decoder.final_norm.…, output.….
  EncoderDecoder(Scope scope, const TransformerConfig& config);
  EncoderDecoder(const EncoderDecoder&) = delete;
  EncoderDecoder& operator=(const EncoderDecoder&) = delete;

  // Mean cross-entropy (nats) of predicting `targets` (i32, shape of the target ids; options.ignore_id counts nothing)
  // from the target tokens before and the source: teacher forcing. Target sequence i belongs to source sequence i.
  Variable loss(Context& ctx, const TokenInput& source, const TokenInput& target, const Tensor& targets,
                const ops::CrossEntropyOptions& options = {}) const;

  EncodedSource encode(Context& ctx, const TokenInput& source) const;
  // Fills in `projected`: for a decoder that is called again and again for one source. Without a tape.
  void project_memory(Context& ctx, EncodedSource& source) const;

  // (…, v) for every target position, or with `last_only` one row (b, v) for the last token of each target sequence.
  // Target sequence i attends to source sequence sources[i], so that many (the beams of a search) can share one; empty:
  // i to i.
  Variable logits(Context& ctx, const TokenInput& target, const EncodedSource& source,
                  std::span<const int64_t> sources = {}, nn::KvCache* cache = nullptr, bool last_only = false) const;

  // For the decoder's self-attention.
  nn::KvCache make_cache(int64_t batch, int64_t capacity, Precision precision) const;
  const TransformerConfig& config() const { return config_; }

 private:
  const nn::Embedding& source_embedding() const { return source_embedding_ ? *source_embedding_ : target_embedding_; }
  Variable decode(Context& ctx, const TokenInput& target, const SequenceLayout& layout, const EncodedSource& source,
                  std::span<const int64_t> sources, nn::KvCache* cache) const;

  TransformerConfig config_;
  std::optional<nn::Embedding> source_embedding_;  // none: shared with the target's
  nn::Embedding target_embedding_;
  nn::TransformerStack encoder_;
  nn::TransformerStack decoder_;
  OutputProjection output_;
};

}  // namespace weft::models
