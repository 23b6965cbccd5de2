#pragma once

#include "weft/text/decoders/decoder.h"

namespace weft::text {

// Tokens written in visible characters to the bytes that those stand for, as one string. A token with any other
// character is its own UTF-8.
class ByteLevelDecoder final : public Decoder {
 public:
  explicit ByteLevelDecoder(const JsonView& description);
  void decode(std::vector<std::string>& tokens, TextBudget& budget) const override;
  bool gives_bytes() const override { return true; }
};

// Runs of tokens such as `<0xE2>` to the text of those bytes; if a run is not UTF-8, each of its bytes to U+FFFD.
class ByteFallbackDecoder final : public Decoder {
 public:
  explicit ByteFallbackDecoder(const JsonView& description);
  void decode(std::vector<std::string>& tokens, TextBudget& budget) const override;
};

}  // namespace weft::text
