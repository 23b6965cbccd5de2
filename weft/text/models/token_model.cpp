#include "weft/text/models/token_model.h"

#include "weft/text/element.h"
#include "weft/text/models/bpe.h"
#include "weft/text/models/unigram.h"
#include "weft/text/models/word_level.h"
#include "weft/text/models/word_piece.h"

namespace weft::text {

namespace {

// The type that a description without one must mean.
std::string_view implied_type(const JsonView& description) {
  if (description.has("merges")) return "BPE";
  if (description.has("vocab") && description.at("vocab").value().is_array()) return "Unigram";
  if (description.has("continuing_subword_prefix") || description.has("max_input_chars_per_word")) return "WordPiece";
  return "WordLevel";
}

}  // namespace

std::string_view TokenModel::shown(const PieceToken& token, std::string_view) const {
  return vocabulary().name(token.id).value_or("");
}

void TokenModel::write_vocabulary(Json& description) const { description["vocab"] = vocabulary().to_json(); }

std::unique_ptr<TokenModel> make_token_model(const JsonView& description) {
  static const ElementMakers<TokenModel> makers = {
      {"BPE", make_element<TokenModel, Bpe>},
      {"Unigram", make_element<TokenModel, Unigram>},
      {"WordLevel", make_element<TokenModel, WordLevel>},
      {"WordPiece", make_element<TokenModel, WordPiece>},
  };
  if (description.has("type")) return make_by_type(description, "model", makers);
  for (const auto& [name, make] : makers) {
    if (name == implied_type(description)) return make(description);
  }
  fail<FormatError>("{}: expected a model", description.place());
}

}  // namespace weft::text
