#pragma once

#include <algorithm>

#include "weft/generate/decoder.h"
#include "weft/generate/decoder_rows.h"
#include "weft/models/causal_lm.h"

namespace weft::generate {

// A causal model's continuations.
//
// The model sees at most config().max_length tokens. A row that grows longer is cut to its last max_length / 2 tokens
// (at least one), whose positions then count from 0, and read anew; from there it grows again. The same goes for a
// longer prompt.
class CausalDecoder final : public Decoder {
 public:
  // `model` must outlive the decoder.
  explicit CausalDecoder(const models::CausalLM& model, const DecoderSettings& settings = {})
      : model_(model), settings_(settings) {}

  int64_t vocab_size() const override { return std::min(model_.config().vocab_size, settings_.vocab_size); }
  std::optional<int64_t> max_length() const override { return std::nullopt; }
  Tensor start(std::span<const std::vector<int32_t>> prompts, const DecoderRoom& room) override;
  void select(std::span<const int64_t> sources) override { rows_.select(sources); }
  Tensor next(std::span<const int32_t> ids) override;

  const nn::KvCache* cache() const { return rows_.cache(); }  // null: none yet, or CacheUse::recompute

 private:
  void slide();
  Tensor logits();

  const models::CausalLM& model_;
  DecoderSettings settings_;
  DecoderRows rows_;
};

}  // namespace weft::generate
