#include "weft/text/models/word_level.h"

#include "weft/base/error.h"
#include "weft/base/shorten.h"

namespace weft::text {

WordLevel::WordLevel(const JsonView& description)
    : vocabulary_(TokenTable::from_json(description.at("vocab"))), unknown_(description.get<std::string>("unk_token")) {
  description.allow_only({"type", "vocab", "unk_token"});
}

void WordLevel::tokenize(std::string_view piece, TextBudget&, std::vector<PieceToken>& tokens) const {
  int32_t id = vocabulary_.find_id(piece);
  if (id < 0) id = vocabulary_.find_id(unknown_);
  if (id < 0)
    fail("tokenizer: \"{}\" is not among the {} words of the vocabulary, and there is no unknown token",
         shortened(piece), vocabulary_.size());
  tokens.push_back({id, 0, static_cast<uint32_t>(piece.size())});
}

}  // namespace weft::text
