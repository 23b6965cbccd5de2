#pragma once

#include "weft/text/pattern.h"
#include "weft/text/pre_tokenizers/pre_tokenizer.h"

namespace weft::text {

// Splits at white space, which goes.
class WhitespaceSplit final : public PreTokenizer {
 public:
  explicit WhitespaceSplit(const JsonView& description) { description.allow_only({"type"}); }
  void split(Pieces& pieces) const override;
};

// Runs of word characters and runs of anything else but white space: \w+|[^\w\s]+.
class WhitespacePreTokenizer final : public PreTokenizer {
 public:
  explicit WhitespacePreTokenizer(const JsonView& description) { description.allow_only({"type"}); }
  void split(Pieces& pieces) const override;
};

// BERT's: splits at white space, which goes; every punctuation character is a piece.
class BertPreTokenizer final : public PreTokenizer {
 public:
  explicit BertPreTokenizer(const JsonView& description) { description.allow_only({"type"}); }
  void split(Pieces& pieces) const override;
};

class PunctuationPreTokenizer final : public PreTokenizer {
 public:
  explicit PunctuationPreTokenizer(const JsonView& description);
  void split(Pieces& pieces) const override;

 private:
  SplitBehavior behavior_ = SplitBehavior::isolated;
};

class DigitsPreTokenizer final : public PreTokenizer {
 public:
  explicit DigitsPreTokenizer(const JsonView& description);
  void split(Pieces& pieces) const override;

 private:
  SplitBehavior behavior_;
};

// Splits at one character, which goes.
class CharDelimiterSplit final : public PreTokenizer {
 public:
  explicit CharDelimiterSplit(const JsonView& description);
  void split(Pieces& pieces) const override;

 private:
  char32_t delimiter_;
};

}  // namespace weft::text
