#pragma once

#include "weft/text/decoders/decoder.h"
#include "weft/text/pattern.h"
#include "weft/text/pre_tokenizers/metaspace.h"

namespace weft::text {

// The replacement back to blanks; none before the first token, where one was put.
class MetaspaceDecoder final : public Decoder {
 public:
  explicit MetaspaceDecoder(const JsonView& description) : metaspace_(description) {}
  void decode(std::vector<std::string>& tokens, TextBudget& budget) const override;

 private:
  Metaspace metaspace_;
};

// All tokens to one string.
class FuseDecoder final : public Decoder {
 public:
  explicit FuseDecoder(const JsonView& description);
  void decode(std::vector<std::string>& tokens, TextBudget& budget) const override;
};

// Takes up to so many of one character away at each token's ends.
class StripDecoder final : public Decoder {
 public:
  explicit StripDecoder(const JsonView& description);
  void decode(std::vector<std::string>& tokens, TextBudget& budget) const override;

 private:
  std::string content_;
  int64_t start_;
  int64_t stop_;
};

// Puts `content` for each match within a token.
class ReplaceDecoder final : public Decoder {
 public:
  explicit ReplaceDecoder(const JsonView& description);
  void decode(std::vector<std::string>& tokens, TextBudget& budget) const override;

 private:
  Pattern pattern_;
  std::string content_;
};

}  // namespace weft::text
