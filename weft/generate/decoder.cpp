#include "weft/generate/decoder.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft::generate {

int64_t new_tokens_for(const Decoder& decoder, size_t prompt_length, int64_t wanted) {
  const std::optional<int64_t> longest = decoder.max_length();
  if (!longest) return wanted;
  const auto length = static_cast<int64_t>(prompt_length);
  require(length <= *longest, "generate: a prompt of {} tokens, the model takes {}", length, *longest);
  return std::min(wanted, *longest - length + 1);
}

Tensor decoder_logits(const Variable& logits, int64_t vocab_size) {
  const Tensor& all = logits.value();
  const Tensor chosen_from = all.dim(-1) > vocab_size ? all.slice(-1, 0, vocab_size) : all;
  return chosen_from.to(DType::f32).contiguous();
}

void check_prompts(std::span<const std::vector<int32_t>> prompts, int64_t vocab_size) {
  for (size_t i = 0; i < prompts.size(); ++i) {
    require(!prompts[i].empty(), "generate: prompt {} is empty; give at least one token to go on from", i);
    for (const int32_t id : prompts[i]) {
      require(id >= 0 && id < vocab_size, "generate: prompt {} has the id {}, the vocabulary has {}", i, id,
              vocab_size);
    }
  }
}

}  // namespace weft::generate
