#pragma once

#include <algorithm>

#include "weft/generate/decoder.h"
#include "weft/generate/decoder_rows.h"
#include "weft/models/encoder_decoder.h"

namespace weft::generate {

// An encoder–decoder model's target sequences for given source sequences. Each source is encoded once, and its keys and
// values for the decoder's cross-attention are made once; all rows that belong to a source read the same ones.
class SourceDecoder final : public Decoder {
 public:
  // Encodes the sources, all at once. `model` must outlive the decoder. weft::Error for an empty source, ids outside
  // the source vocabulary and sources longer than config().max_length.
  SourceDecoder(const models::EncoderDecoder& model, std::span<const std::vector<int32_t>> sources,
                const DecoderSettings& settings = {});

  int64_t vocab_size() const override { return std::min(model_.config().vocab_size, settings_.vocab_size); }
  std::optional<int64_t> max_length() const override { return model_.config().max_length; }
  // Prompt i, usually the start token alone, is the beginning of the target of source i; there is one per source.
  Tensor start(std::span<const std::vector<int32_t>> prompts, const DecoderRoom& room) override;
  void select(std::span<const int64_t> sources) override { rows_.select(sources); }
  Tensor next(std::span<const int32_t> ids) override;

  const nn::KvCache* cache() const { return rows_.cache(); }  // null: none yet, or CacheUse::recompute

 private:
  Tensor logits();

  const models::EncoderDecoder& model_;
  DecoderSettings settings_;
  size_t source_count_;
  models::EncodedSource encoded_;
  DecoderRows rows_;
};

}  // namespace weft::generate
