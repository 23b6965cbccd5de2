#include "weft/models/causal_lm.h"

#include "weft/base/error.h"
#include "weft/ops/embedding.h"

namespace weft::models {

namespace {

TransformerConfig resolved(TransformerConfig config) {
  require(config.architecture == Architecture::causal_lm, "causal model: the config describes the architecture {}",
          name_of(config.architecture));
  config.resolve();
  return config;
}

}  // namespace

CausalLM::CausalLM(Scope scope, const TransformerConfig& config)
    : config_(resolved(config)),
      embedding_(scope / "embedding", config_.embedding_config()),
      stack_(scope, config_.stack_config()),
      output_(scope / "output", config_, embedding_.token_weight()) {}

Variable CausalLM::hidden(Context& ctx, const TokenInput& input, const SequenceLayout& layout,
                          nn::KvCache* cache) const {
  const nn::AttentionCall call{.mask = layout.mask, .position_ids = layout.position_ids, .cache = cache};
  const Variable x = embedding_.forward(ctx, input.ids, layout.position_ids);
  Variable result = stack_.forward(ctx, x, call);
  if (cache != nullptr) advance(*cache, layout.mask);
  return result;
}

Variable CausalLM::loss(Context& ctx, const TokenInput& input, const Tensor& targets,
                        const ops::CrossEntropyOptions& options) const {
  const SequenceLayout layout = layout_of(input, true, config_.max_length, nullptr, "causal model");
  return output_.loss(ctx, hidden(ctx, input, layout, nullptr), targets, options);
}

Variable CausalLM::logits(Context& ctx, const TokenInput& input, nn::KvCache* cache, bool last_only) const {
  const SequenceLayout layout = layout_of(input, true, config_.max_length, cache, "causal model");
  Variable x = hidden(ctx, input, layout, cache);
  if (last_only) {
    x = ops::select_rows(ctx, x.reshape({input.ids.numel(), config_.d_model}), last_rows(layout.mask));
  }
  return output_.logits(ctx, x);
}

nn::KvCache CausalLM::make_cache(int64_t batch, int64_t capacity, Precision precision) const {
  return config_.make_cache(config_.layers, batch, capacity, precision);
}

}  // namespace weft::models
