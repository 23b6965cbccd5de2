#pragma once

#include <string>

#include "weft/text/double_array.h"
#include "weft/text/models/token_model.h"

namespace weft::text {

// The longest token first, from a piece's start on (Wu et al. 2016; Devlin et al. 2018). Tokens that go on a word carry
// a prefix. A piece that does not work out, or of more characters than allowed, is unknown as a whole.
class WordPiece final : public TokenModel {
 public:
  explicit WordPiece(const JsonView& description);
  void tokenize(std::string_view piece, TextBudget& budget, std::vector<PieceToken>& tokens) const override;
  const TokenTable& vocabulary() const override { return vocabulary_; }
  std::optional<int32_t> unknown_id() const override { return vocabulary_.find(unknown_); }

 private:
  void unknown(std::string_view piece, std::vector<PieceToken>& tokens) const;

  TokenTable vocabulary_;
  DoubleArray trie_;
  uint32_t continuation_ = DoubleArray::root;  // the node of the prefix
  bool has_continuations_ = true;
  std::string unknown_;
  int64_t longest_;  // characters of a piece
};

}  // namespace weft::text
