#include "weft/generate/causal_decoder.h"

#include <algorithm>

namespace weft::generate {

Tensor CausalDecoder::start(std::span<const std::vector<int32_t>> prompts, const DecoderRoom& room) {
  check_prompts(prompts, model_.config().vocab_size);
  rows_.start(prompts, room);
  slide();
  if (settings_.cache == CacheUse::cached) {
    rows_.use(model_.make_cache(room.rows, rows_.capacity(room, model_.config().max_length), settings_.precision));
  }
  return logits();
}

Tensor CausalDecoder::next(std::span<const int32_t> ids) {
  rows_.append(ids);
  slide();
  return logits();
}

void CausalDecoder::slide() {
  const auto longest = static_cast<size_t>(model_.config().max_length);
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (rows_.length(row) > longest) rows_.cut(row, std::max<size_t>(1, longest / 2));
  }
}

Tensor CausalDecoder::logits() {
  Context ctx{.precision = settings_.precision, .rng = {}};
  return decoder_logits(model_.logits(ctx, rows_.unread(), rows_.cache(), true), vocab_size());
}

}  // namespace weft::generate
