#pragma once

#include <cstdint>

#include "weft/autograd/context.h"
#include "weft/models/output_projection.h"
#include "weft/models/token_input.h"
#include "weft/models/transformer_config.h"
#include "weft/nn/embedding.h"
#include "weft/nn/kv_cache.h"
#include "weft/nn/transformer_stack.h"
#include "weft/ops/cross_entropy.h"

namespace weft::models {

// A decoder-only language model (Radford et al. 2018): embeddings, blocks of causal self-attention and feed-forward,
// output projection. GPT-2 and LLaMA are settings of TransformerConfig.
class CausalLM {
 public:
  // `config` as resolved. Parameter paths: embedding.token.weight, embedding.position.weight, blocks.<i>.…,
  // final_norm.weight, output.weight.
  CausalLM(Scope scope, const TransformerConfig& config);
  CausalLM(const CausalLM&) = delete;
  CausalLM& operator=(const CausalLM&) = delete;

  // Mean cross-entropy (nats) of predicting `targets` (i32, shape of the ids; options.ignore_id counts nothing), a
  // scalar.
  Variable loss(Context& ctx, const TokenInput& input, const Tensor& targets,
                const ops::CrossEntropyOptions& options = {}) const;
  // (…, v) for every position, or with `last_only` one row (b, v) for the last token of each sequence.
  Variable logits(Context& ctx, const TokenInput& input, nn::KvCache* cache = nullptr, bool last_only = false) const;

  nn::KvCache make_cache(int64_t batch, int64_t capacity, Precision precision) const;
  const TransformerConfig& config() const { return config_; }

 private:
  Variable hidden(Context& ctx, const TokenInput& input, const SequenceLayout& layout, nn::KvCache* cache) const;

  TransformerConfig config_;
  nn::Embedding embedding_;
  nn::TransformerStack stack_;
  OutputProjection output_;
};

}  // namespace weft::models
