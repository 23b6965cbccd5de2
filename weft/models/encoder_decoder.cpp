#include "weft/models/encoder_decoder.h"

#include "weft/base/error.h"
#include "weft/ops/embedding.h"

namespace weft::models {

namespace {

TransformerConfig resolved(TransformerConfig config) {
  require(config.architecture == Architecture::encoder_decoder,
          "encoder–decoder: the config describes the architecture {}", name_of(config.architecture));
  config.resolve();
  return config;
}

}  // namespace

EncoderDecoder::EncoderDecoder(Scope scope, const TransformerConfig& config)
    : config_(resolved(config)),
      target_embedding_(config_.share_embeddings ? scope / "embedding" : scope / "decoder" / "embedding",
                        config_.embedding_config()),
      encoder_(scope / "encoder", config_.stack_config()),
      decoder_(scope / "decoder", config_.decoder_stack_config()),
      output_(scope / "output", config_, target_embedding_.token_weight()) {
  if (!config_.share_embeddings) {
    source_embedding_.emplace(scope / "encoder" / "embedding", config_.source_embedding_config());
  }
}

EncodedSource EncoderDecoder::encode(Context& ctx, const TokenInput& source) const {
  const SequenceLayout layout = layout_of(source, false, config_.max_length, nullptr, "encoder");
  const Variable x = source_embedding().forward(ctx, source.ids, layout.position_ids);
  const nn::AttentionCall call{.mask = layout.mask, .position_ids = layout.position_ids};
  return {.hidden = encoder_.forward(ctx, x, call), .sequences = layout.mask.segments};
}

void EncoderDecoder::project_memory(Context& ctx, EncodedSource& source) const {
  require(ctx.tape == nullptr, "encoder–decoder: a memory projected once serves inference; run without a tape");
  source.projected = decoder_.project_memory(ctx, source.hidden);
}

Variable EncoderDecoder::decode(Context& ctx, const TokenInput& target, const SequenceLayout& layout,
                                const EncodedSource& source, std::span<const int64_t> sources,
                                nn::KvCache* cache) const {
  const auto& targets = layout.mask.segments;
  require(sources.empty() ? targets.size() == source.sequences.size() : targets.size() == sources.size(),
          "encoder–decoder: {} target sequences but {} source sequences", targets.size(),
          sources.empty() ? source.sequences.size() : sources.size());
  nn::CrossAttentionCall cross{.memory = source.hidden, .mask = {}, .projected = source.projected};
  for (size_t i = 0; i < targets.size(); ++i) {
    const int64_t number = sources.empty() ? static_cast<int64_t>(i) : sources[i];
    require(number >= 0 && number < static_cast<int64_t>(source.sequences.size()),
            "encoder–decoder: target sequence {} asks for source {}, there are {}", i, number, source.sequences.size());
    const kernels::AttentionSegment& rows = source.sequences[static_cast<size_t>(number)];
    cross.mask.segments.push_back({targets[i].q_begin, targets[i].q_length, rows.k_begin, rows.k_length});
  }
  const nn::AttentionCall call{.mask = layout.mask, .position_ids = layout.position_ids, .cache = cache};
  const Variable x = target_embedding_.forward(ctx, target.ids, layout.position_ids);
  Variable result = decoder_.forward(ctx, x, call, &cross);
  if (cache != nullptr) advance(*cache, layout.mask);
  return result;
}

Variable EncoderDecoder::loss(Context& ctx, const TokenInput& source, const TokenInput& target, const Tensor& targets,
                              const ops::CrossEntropyOptions& options) const {
  const EncodedSource encoded = encode(ctx, source);
  const SequenceLayout layout = layout_of(target, true, config_.max_length, nullptr, "decoder");
  return output_.loss(ctx, decode(ctx, target, layout, encoded, {}, nullptr), targets, options);
}

Variable EncoderDecoder::logits(Context& ctx, const TokenInput& target, const EncodedSource& source,
                                std::span<const int64_t> sources, nn::KvCache* cache, bool last_only) const {
  const SequenceLayout layout = layout_of(target, true, config_.max_length, cache, "decoder");
  Variable x = decode(ctx, target, layout, source, sources, cache);
  if (last_only) {
    x = ops::select_rows(ctx, x.reshape({target.ids.numel(), config_.d_model}), last_rows(layout.mask));
  }
  return output_.logits(ctx, x);
}

nn::KvCache EncoderDecoder::make_cache(int64_t batch, int64_t capacity, Precision precision) const {
  return config_.make_cache(config_.decoder_layers, batch, capacity, precision);
}

}  // namespace weft::models
