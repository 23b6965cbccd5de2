#pragma once

#include <string>

#include "weft/text/models/token_model.h"

namespace weft::text {

// Every piece is a token, or unknown.
class WordLevel final : public TokenModel {
 public:
  explicit WordLevel(const JsonView& description);
  void tokenize(std::string_view piece, TextBudget& budget, std::vector<PieceToken>& tokens) const override;
  const TokenTable& vocabulary() const override { return vocabulary_; }
  std::optional<int32_t> unknown_id() const override { return vocabulary_.find(unknown_); }

 private:
  TokenTable vocabulary_;
  std::string unknown_;
};

}  // namespace weft::text
