#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/utf8.h"

namespace weft::text {

// The ids with a role of their own, where a tokenizer has them.
struct SpecialIds {
  std::optional<int32_t> bos;  // begins a sequence
  std::optional<int32_t> eos;  // ends it
  std::optional<int32_t> pad;  // fills a batch
  std::optional<int32_t> unk;  // stands for what is not in the vocabulary

  bool operator==(const SpecialIds&) const = default;
};

enum class SpecialTokens { keep, skip };

// Text to ids and back. Ids run from 0 to vocab_size() − 1. Bytes that are not UTF-8 never fail: see repair_utf8().
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Adds no BOS or EOS: that is the task's business. weft::Error for text outside the vocabulary if there is no unk.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  // The bytes of `ids`; they may begin or end inside a character (then Utf8Stream puts pieces together). `skip` leaves
  // out bos, eos and pad; unk is always shown. Ids out of range become what unk is shown as.
  virtual std::string decode_bytes(std::span<const int32_t> ids, SpecialTokens special) const = 0;
  std::string decode(std::span<const int32_t> ids, SpecialTokens special = SpecialTokens::keep) const {
    return repair_utf8(decode_bytes(ids, special));
  }

  virtual int32_t vocab_size() const = 0;
  // The name of an id in the vocabulary, empty for one between others that no token has. weft::Error if it is out of
  // range.
  virtual std::string token(int32_t id) const = 0;
  virtual std::optional<int32_t> find(std::string_view token) const = 0;
  virtual const SpecialIds& special() const = 0;
};

}  // namespace weft::text
