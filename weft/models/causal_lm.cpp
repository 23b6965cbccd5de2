#include "weft/models/causal_lm.h"

#include "weft/base/error.h"
#include "weft/ops/embedding.h"
#include "weft/ops/linear.h"

namespace weft::models {

namespace {

// The sequences of the input, and causality. A padded or plain (b, s) input is b sequences of s, (tokens) is one.
Mask causal_mask(const CausalInput& input) {
  Mask mask = input.mask;
  mask.causal = true;
  if (!mask.segments.empty()) return mask;
  const int64_t s = input.ids.rank() == 0 ? 1 : input.ids.dim(-1);
  for (int64_t begin = 0; begin < input.ids.numel(); begin += s) mask.segments.push_back({begin, s, begin, s});
  return mask;
}

// Position ids counted from 0 in every sequence, or from the number of tokens that the cache holds of it.
Tensor position_ids_of(const CausalInput& input, const Mask& mask, const nn::KvCache* cache) {
  if (input.position_ids.defined()) {
    require(input.position_ids.shape() == input.ids.shape(),
            "causal model: position ids have the shape {} of the ids, got {}", input.ids.shape(),
            input.position_ids.shape());
    return input.position_ids;
  }
  Tensor positions = Tensor::zeros(input.ids.shape(), DType::i32);
  int32_t* out = positions.data<int32_t>();
  for (size_t i = 0; i < mask.segments.size(); ++i) {
    const kernels::AttentionSegment& segment = mask.segments[i];
    require(segment.q_begin >= 0 && segment.q_begin + segment.q_length <= input.ids.numel(),
            "causal model: a sequence of the mask lies outside the {} tokens", input.ids.numel());
    const int64_t first = cache == nullptr ? 0 : cache->length(static_cast<int64_t>(i));
    for (int64_t t = 0; t < segment.q_length; ++t) out[segment.q_begin + t] = static_cast<int32_t>(first + t);
  }
  return positions;
}

void check_positions(const Tensor& position_ids, int64_t max_length) {
  for (const int32_t position : position_ids.span<int32_t>()) {
    require(position >= 0 && position < max_length,
            "causal model: position {} is past the model's max_length {}; use shorter sequences", position, max_length);
  }
}

}  // namespace

CausalLM::CausalLM(Scope scope, TransformerConfig config)
    : config_([&] {
        config.resolve();
        return config;
      }()),
      embedding_(scope / "embedding", config_.embedding_config()),
      stack_(scope, config_.stack_config()) {
  if (!config_.tie_embeddings) {
    const nn::WeightInitialisation weights{config_.initialisation, config_.initial_deviation, config_.layers};
    output_weight_ = &(scope / "output")
                          .parameter("weight", {config_.vocab_size, config_.d_model},
                                     weights.weight(config_.d_model, config_.vocab_size));
  }
  if (config_.output_bias) {
    output_bias_ = &(scope / "output").parameter("bias", {config_.vocab_size}, Initialiser::zeros());
  }
}

const Parameter& CausalLM::output_weight() const {
  return output_weight_ == nullptr ? embedding_.token_weight() : *output_weight_;
}

Variable CausalLM::hidden(Context& ctx, const CausalInput& input, nn::KvCache* cache) const {
  require(input.ids.defined() && input.ids.dtype() == DType::i32 && input.ids.numel() > 0,
          "causal model: expected token ids (i32), at least one");
  nn::AttentionCall call;
  call.mask = causal_mask(input);
  call.position_ids = position_ids_of(input, call.mask, cache);
  call.cache = cache;
  check_positions(call.position_ids, config_.max_length);
  const Variable x = embedding_.forward(ctx, input.ids, call.position_ids);
  Variable result = stack_.forward(ctx, x, call);
  if (cache != nullptr) {
    std::vector<int64_t> counts;
    for (const kernels::AttentionSegment& segment : call.mask.segments) counts.push_back(segment.q_length);
    cache->advance(counts);
  }
  return result;
}

Variable CausalLM::loss(Context& ctx, const CausalInput& input, const Tensor& targets,
                        const ops::CrossEntropyOptions& options) const {
  const Variable x = hidden(ctx, input, nullptr);
  const Variable bias = output_bias_ == nullptr ? Variable() : Variable(*output_bias_);
  return ops::linear_cross_entropy(ctx, x, output_weight(), bias, targets, options);
}

Variable CausalLM::logits(Context& ctx, const CausalInput& input, nn::KvCache* cache, bool last_only) const {
  Variable x = hidden(ctx, input, cache);
  if (last_only) {
    const Mask mask = causal_mask(input);
    Tensor rows = Tensor::empty({static_cast<int64_t>(mask.segments.size())}, DType::i32);
    for (size_t i = 0; i < mask.segments.size(); ++i) {
      require(mask.segments[i].q_length > 0, "causal model: sequence {} has no new token to continue from", i);
      rows.data<int32_t>()[i] = static_cast<int32_t>(mask.segments[i].q_begin + mask.segments[i].q_length - 1);
    }
    x = ops::select_rows(ctx, x.reshape({input.ids.numel(), config_.d_model}), rows);
  }
  const Variable bias = output_bias_ == nullptr ? Variable() : Variable(*output_bias_);
  return ops::linear(ctx, x, output_weight(), bias);
}

nn::KvCache CausalLM::make_cache(int64_t batch, int64_t capacity, Precision precision) const {
  return {config_.layers, batch, capacity, config_.kv_heads * config_.head_dim,
          precision == Precision::bf16 ? DType::bf16 : DType::f32};
}

}  // namespace weft::models
