#include "weft/models/token_input.h"

#include <vector>

#include "weft/base/error.h"

namespace weft::models {

namespace {

Mask mask_of(const TokenInput& input, bool causal) {
  Mask mask = input.mask;
  mask.causal = causal;
  if (!mask.segments.empty()) return mask;
  const int64_t s = input.ids.rank() == 0 ? 1 : input.ids.dim(-1);
  for (int64_t begin = 0; begin < input.ids.numel(); begin += s) mask.segments.push_back({begin, s, begin, s});
  return mask;
}

// Position ids counted from 0 in every sequence, or from the number of tokens that the cache holds of it.
Tensor position_ids_of(const TokenInput& input, const Mask& mask, const nn::KvCache* cache, std::string_view model) {
  if (input.position_ids.defined()) {
    require(input.position_ids.shape() == input.ids.shape(), "{}: position ids have the shape {} of the ids, got {}",
            model, input.ids.shape(), input.position_ids.shape());
    return input.position_ids;
  }
  Tensor positions = Tensor::zeros(input.ids.shape(), DType::i32);
  int32_t* out = positions.data<int32_t>();
  for (size_t i = 0; i < mask.segments.size(); ++i) {
    const kernels::AttentionSegment& segment = mask.segments[i];
    require(segment.q_begin >= 0 && segment.q_begin + segment.q_length <= input.ids.numel(),
            "{}: a sequence of the mask lies outside the {} tokens", model, input.ids.numel());
    const int64_t first = cache == nullptr ? 0 : cache->length(static_cast<int64_t>(i));
    for (int64_t t = 0; t < segment.q_length; ++t) out[segment.q_begin + t] = static_cast<int32_t>(first + t);
  }
  return positions;
}

Tensor rows_of(const Mask& mask, bool last) {
  Tensor rows = Tensor::empty({static_cast<int64_t>(mask.segments.size())}, DType::i32);
  for (size_t i = 0; i < mask.segments.size(); ++i) {
    const kernels::AttentionSegment& segment = mask.segments[i];
    require(segment.q_length > 0, "model: sequence {} has no token", i);
    rows.data<int32_t>()[i] = static_cast<int32_t>(segment.q_begin + (last ? segment.q_length - 1 : 0));
  }
  return rows;
}

}  // namespace

TokenInput packed_input(std::span<const std::span<const int32_t>> sequences) {
  std::vector<int32_t> ids;
  std::vector<int64_t> offsets = {0};
  for (const std::span<const int32_t> sequence : sequences) {
    ids.insert(ids.end(), sequence.begin(), sequence.end());
    offsets.push_back(static_cast<int64_t>(ids.size()));
  }
  TokenInput input;
  input.ids = Tensor::from<int32_t>(ids, {static_cast<int64_t>(ids.size())});
  input.mask = Mask::packed(offsets, false);
  return input;
}

SequenceLayout layout_of(const TokenInput& input, bool causal, int64_t max_length, const nn::KvCache* cache,
                         std::string_view model) {
  require(input.ids.defined() && input.ids.dtype() == DType::i32 && input.ids.numel() > 0,
          "{}: expected token ids (i32), at least one", model);
  SequenceLayout layout;
  layout.mask = mask_of(input, causal);
  layout.position_ids = position_ids_of(input, layout.mask, cache, model);
  for (const int32_t position : layout.position_ids.span<int32_t>()) {
    require(position >= 0 && position < max_length,
            "{}: position {} is past the model's max_length {}; use shorter sequences", model, position, max_length);
  }
  return layout;
}

void advance(nn::KvCache& cache, const Mask& mask) {
  std::vector<int64_t> counts;
  for (const kernels::AttentionSegment& segment : mask.segments) counts.push_back(segment.q_length);
  cache.advance(counts);
}

Tensor first_rows(const Mask& mask) { return rows_of(mask, false); }

Tensor last_rows(const Mask& mask) { return rows_of(mask, true); }

}  // namespace weft::models
