#include "weft/generate/source_decoder.h"

#include "weft/base/error.h"

namespace weft::generate {

namespace {

models::EncodedSource encode(const models::EncoderDecoder& model, std::span<const std::vector<int32_t>> sources,
                             const DecoderSettings& settings) {
  require(!sources.empty(), "decoding: there is no source to decode from");
  const models::TransformerConfig& config = model.config();
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto s = static_cast<int64_t>(sources[i].size());
    require(s > 0 && s <= config.max_length, "decoding: source {} has {} tokens, the model takes 1 to {}", i, s,
            config.max_length);
    for (const int32_t id : sources[i]) {
      require(id >= 0 && id < config.source_vocab_size, "decoding: source {} has the id {}, the vocabulary has {}", i,
              id, config.source_vocab_size);
    }
  }
  Context ctx{.precision = settings.precision, .rng = {}};
  const std::vector<std::span<const int32_t>> views(sources.begin(), sources.end());
  models::EncodedSource encoded = model.encode(ctx, models::packed_input(views));
  if (settings.cache == CacheUse::cached) model.project_memory(ctx, encoded);
  return encoded;
}

}  // namespace

SourceDecoder::SourceDecoder(const models::EncoderDecoder& model, std::span<const std::vector<int32_t>> sources,
                             const DecoderSettings& settings)
    : model_(model), settings_(settings), source_count_(sources.size()), encoded_(encode(model, sources, settings)) {}

Tensor SourceDecoder::start(std::span<const std::vector<int32_t>> prompts, const DecoderRoom& room) {
  check_prompts(prompts, model_.config().vocab_size);
  require(prompts.size() == source_count_, "decoding: {} prompts for {} sources", prompts.size(), source_count_);
  rows_.start(prompts, room);
  if (settings_.cache == CacheUse::cached) {
    rows_.use(model_.make_cache(room.rows, rows_.capacity(room, model_.config().max_length), settings_.precision));
  }
  return logits();
}

Tensor SourceDecoder::next(std::span<const int32_t> ids) {
  rows_.append(ids);
  return logits();
}

Tensor SourceDecoder::logits() {
  Context ctx{.precision = settings_.precision, .rng = {}};
  const std::vector<int64_t> sources = rows_.prompts();
  return decoder_logits(model_.logits(ctx, rows_.unread(), encoded_, sources, rows_.cache(), true), vocab_size());
}

}  // namespace weft::generate
