#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/json.h"
#include "weft/text/aligned_text.h"

namespace weft::text {

enum class EncodeDetail {
  ids,    // nothing else
  masks,  // type ids and masks too
  all     // and tokens, offsets and word ids
};

// What encoding a text gives, one entry per token. Lists that were not asked for (EncodeDetail) are empty.
struct Encoding {
  static constexpr int32_t no_word = -1;

  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;             // 0, or 1 for the second text of a pair, as the post-processor says
  std::vector<int32_t> attention_mask;       // 1; 0 for padding
  std::vector<int32_t> special_tokens_mask;  // 1 for tokens that post-processing or padding added
  std::vector<std::string> tokens;
  std::vector<ByteRange> offsets;     // bytes of the text as it was given; {0, 0} for added tokens
  std::vector<int32_t> word_ids;      // number of the pre-tokenizer's piece, no_word for added tokens
  std::vector<Encoding> overflowing;  // what truncation cut off, in windows of the same length

  size_t size() const { return ids.size(); }
  // Entries [begin, end), without overflow.
  Encoding slice(size_t begin, size_t end) const;
  // Memory that the entries take, those of the windows too, in bytes.
  size_t bytes() const;
  // Puts another's entries behind these. Every window of either goes with every one of the other's. weft::Error if that
  // makes many more of them.
  void append(Encoding other);
};

enum class Side { left, right };

enum class TruncationStrategy { longest_first, only_first, only_second };

struct Truncation {
  int64_t max_length = 512;  // tokens, special ones included
  int64_t stride = 0;        // tokens that a window repeats of the one before
  TruncationStrategy strategy = TruncationStrategy::longest_first;
  Side direction = Side::right;  // the side that is cut off
};

struct Padding {
  std::optional<int64_t> length;  // none: to the longest of the batch
  int64_t multiple_of = 0;        // rounds the length up; 0: does not
  Side direction = Side::right;
  int32_t id = 0;
  int32_t type_id = 0;
  std::string token = "[PAD]";
};

// weft::Error if windows of `bytes` in all are too large for an encoding of `whole` bytes.
void require_room_for_windows(size_t windows, size_t bytes, size_t whole);

// `truncation` and `padding` of a tokenizer.json, there and back. FormatError with the place.
Truncation read_truncation(const JsonView& description);
Padding read_padding(const JsonView& description);
Json to_json(const Truncation& truncation);
Json to_json(const Padding& padding);

// Cuts one encoding, or two together, to `max_length` tokens, to which no special tokens belong any more. weft::Error
// if the stride is not below the length, or the text that may be cut is too short.
void truncate(Encoding& first, Encoding* second, const Truncation& truncation);
// Fills up each encoding and its windows; longer ones stay as they are.
void pad(std::vector<Encoding>& encodings, const Padding& padding);

}  // namespace weft::text
