#include "weft/generate/source_decoder.h"

#include <algorithm>
#include <numeric>

#include "weft/base/error.h"

namespace weft::generate {

namespace {

// The sequences laid end to end.
models::TokenInput packed(std::span<const std::span<const int32_t>> sequences, bool causal) {
  std::vector<int32_t> ids;
  std::vector<int64_t> offsets = {0};
  for (const std::span<const int32_t> sequence : sequences) {
    ids.insert(ids.end(), sequence.begin(), sequence.end());
    offsets.push_back(static_cast<int64_t>(ids.size()));
  }
  models::TokenInput input;
  input.ids = Tensor::from<int32_t>(ids, {static_cast<int64_t>(ids.size())});
  input.mask = Mask::packed(offsets, causal);
  return input;
}

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
  models::EncodedSource encoded = model.encode(ctx, packed(views, false));
  if (settings.cache == CacheUse::cached) model.project_memory(ctx, encoded);
  return encoded;
}

}  // namespace

SourceDecoder::SourceDecoder(const models::EncoderDecoder& model, std::span<const std::vector<int32_t>> sources,
                             const DecoderSettings& settings)
    : model_(model),
      settings_(settings),
      source_count_(static_cast<int64_t>(sources.size())),
      encoded_(encode(model, sources, settings)) {}

Tensor SourceDecoder::start(std::span<const std::vector<int32_t>> prompts, const DecoderRoom& room) {
  check_prompts(prompts, vocab_size());
  require(static_cast<int64_t>(prompts.size()) == source_count_ && source_count_ <= room.rows,
          "decoding: {} prompts for {} sources, and room for {} rows", prompts.size(), source_count_, room.rows);
  rows_.clear();
  cache_.reset();
  int64_t longest = 0;
  for (const std::vector<int32_t>& prompt : prompts) {
    rows_.push_back({.ids = prompt, .cached = 0, .source = static_cast<int64_t>(rows_.size())});
    longest = std::max(longest, static_cast<int64_t>(prompt.size()));
  }
  const int64_t max_length = model_.config().max_length;
  require(longest <= max_length, "decoding: a prompt of {} tokens, the model takes {}", longest, max_length);
  if (settings_.cache == CacheUse::cached) {
    const int64_t capacity = room.new_tokens < max_length - longest ? longest + room.new_tokens : max_length;
    cache_.emplace(model_.make_cache(room.rows, capacity, settings_.precision));
    std::vector<int64_t> first(rows_.size());
    std::iota(first.begin(), first.end(), int64_t{0});
    cache_->reorder(first);
  }
  return logits();
}

void SourceDecoder::select(std::span<const int64_t> sources) {
  std::vector<Row> rows;
  for (const int64_t source : sources) {
    require(source >= 0 && source < static_cast<int64_t>(rows_.size()), "decoding: row {} was asked for, there are {}",
            source, rows_.size());
    rows.push_back(rows_[static_cast<size_t>(source)]);
  }
  if (cache_) cache_->reorder(sources);
  rows_ = std::move(rows);
}

Tensor SourceDecoder::next(std::span<const int32_t> ids) {
  require(ids.size() == rows_.size(), "decoding: {} tokens for {} rows", ids.size(), rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i) rows_[i].ids.push_back(ids[i]);
  return logits();
}

Tensor SourceDecoder::logits() {
  std::vector<std::span<const int32_t>> fresh;
  std::vector<int64_t> sources;
  for (Row& row : rows_) {
    fresh.push_back(std::span<const int32_t>(row.ids).subspan(row.cached));
    sources.push_back(row.source);
    if (cache_) row.cached = row.ids.size();
  }
  Context ctx = context();
  const Variable result = model_.logits(ctx, packed(fresh, true), encoded_, sources, cache_ ? &*cache_ : nullptr, true);
  return result.value().to(DType::f32).contiguous();
}

}  // namespace weft::generate
