#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/text/encoding.h"
#include "weft/text/post_processors/post_processor.h"
#include "weft/text/tokenizer.h"

namespace weft::text {

// One text, or two that belong together.
struct TextPair {
  std::string_view text;
  std::optional<std::string_view> pair = std::nullopt;
};

struct EncodeOptions {
  AddSpecialTokens special_tokens = AddSpecialTokens::yes;
  EncodeDetail detail = EncodeDetail::all;
  std::optional<Truncation> truncation = std::nullopt;
  std::optional<Padding> padding = std::nullopt;
};

// A tokenizer that tells where in the text its tokens come from, puts special tokens around them, truncates and pads.
class EncodingTokenizer : public Tokenizer {
 public:
  // What the tokenizer's files say about truncation and padding.
  const EncodeOptions& default_options() const { return default_options_; }

  // weft::Error where truncation leaves no room for the special tokens, or for the stride beside them.
  Encoding encode(const TextPair& texts, const EncodeOptions& options) const;
  // Each as by itself, but padded together; in parallel.
  std::vector<Encoding> encode_batch(std::span<const TextPair> texts, const EncodeOptions& options) const;
  // How many special tokens encode() puts around one text.
  int64_t special_tokens_per_text() const;
  // No special tokens, no truncation, no padding.
  std::vector<int32_t> encode(std::string_view text) const override;

 protected:
  struct EncodeRequest {
    std::string_view text;
    int32_t type_id;
    EncodeDetail detail;
    Side kept_end = Side::left;                   // where tokens are taken from, if not all are
    std::optional<size_t> enough = std::nullopt;  // tokens after which no further piece is looked at
  };

  // The tokens of one text, without special ones.
  virtual Encoding encode_text(const EncodeRequest& request) const = 0;
  virtual const PostProcessor* post_processor() const = 0;  // null: none

  EncodeOptions default_options_;

 private:
  Encoding encode_one(const TextPair& texts, const EncodeOptions& options) const;
};

}  // namespace weft::text
