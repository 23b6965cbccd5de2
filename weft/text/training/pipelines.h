#pragma once

#include "weft/base/json.h"
#include "weft/text/training/tokenizer_trainer.h"

namespace weft::text {

// What a kind's tokenizer.json holds besides model, added tokens and post-processor: normalizer, pre_tokenizer,
// decoder.
Json pipeline_of(const TokenizerTrainerConfig& config);

// The post-processor that puts the special tokens around a text; null where there are none. `id_of` is the place of a
// special token in `special_tokens`.
Json post_processor_of(const TokenizerTrainerConfig& config, const std::vector<std::string>& special_tokens);

// The names that BERT's special tokens have.
inline constexpr std::string_view bert_special_tokens[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

}  // namespace weft::text
