#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "weft/autograd/context.h"
#include "weft/autograd/variable.h"
#include "weft/tensor/tensor.h"

namespace weft::generate {

// The same tokens either way; `recompute` runs all tokens again for every new one, to check the cache by.
enum class CacheUse { cached, recompute };

struct DecoderSettings {
  Precision precision = Precision::f32;
  CacheUse cache = CacheUse::cached;
  // Ids from here on are never chosen. A published model may have more rows in its tables than its tokenizer has
  // tokens.
  int64_t vocab_size = std::numeric_limits<int64_t>::max();
};

// What a search will ask of a decoder.
struct DecoderRoom {
  int64_t rows = 0;        // at once, at most
  int64_t new_tokens = 0;  // added to a prompt, at most
};

// A model that is asked for the next token again and again: what greedy decoding, sampling and beam search are written
// over. It holds rows, numbered from 0; each is a sequence of tokens that grows.
class Decoder {
 public:
  virtual ~Decoder() = default;

  virtual int64_t vocab_size() const = 0;  // v: the model's, or that of the settings if smaller
  // How many tokens a row may hold, its prompt included; none: a row may grow for ever.
  virtual std::optional<int64_t> max_length() const = 0;

  // Forgets all rows and begins one per prompt. The result, as that of next(), is (rows, v) f32: the logits of each
  // row's next token. weft::Error for an empty prompt and ids outside the vocabulary.
  virtual Tensor start(std::span<const std::vector<int32_t>> prompts, const DecoderRoom& room) = 0;
  // Row i becomes what row sources[i] was; there are then sources.size() rows, at most room.rows.
  virtual void select(std::span<const int64_t> sources) = 0;
  // One more token for every row.
  virtual Tensor next(std::span<const int32_t> ids) = 0;
};

// How many tokens a search can add to `prompt`: `wanted`, or fewer where the decoder's rows end before. The last token
// is never fed back, so one more than fits fits. weft::Error if there is room for none.
int64_t new_tokens_for(const Decoder& decoder, size_t prompt_length, int64_t wanted);
// A model's logits (rows, …) as a decoder returns them: the first `vocab_size` of each row, (rows, v) f32.
Tensor decoder_logits(const Variable& logits, int64_t vocab_size);
// weft::Error, naming the prompt, if one is empty or has an id outside the vocabulary.
void check_prompts(std::span<const std::vector<int32_t>> prompts, int64_t vocab_size);

}  // namespace weft::generate
