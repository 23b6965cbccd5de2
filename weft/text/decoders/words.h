#pragma once

#include "weft/text/decoders/decoder.h"

namespace weft::text {

// WordPiece: a blank before every token but the first and those that go on a word; clean-up takes blanks before
// punctuation and contractions away.
class WordPieceDecoder final : public Decoder {
 public:
  explicit WordPieceDecoder(const JsonView& description);
  void decode(std::vector<std::string>& tokens, TextBudget& budget) const override;

 private:
  std::string prefix_;
  bool cleanup_;
};

// Tokens that end words carry a suffix: it becomes a blank, and goes at the end of the text.
class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(const JsonView& description);
  void decode(std::vector<std::string>& tokens, TextBudget& budget) const override;

 private:
  std::string suffix_;
};

// Takes away the blanks that splitting into words puts before punctuation and English contractions.
std::string clean_up(std::string text);

}  // namespace weft::text
