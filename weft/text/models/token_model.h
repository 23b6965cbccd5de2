#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/json.h"
#include "weft/text/text_budget.h"
#include "weft/text/token_table.h"

namespace weft::text {

// Bytes that a vocabulary's trie may lead from one place of a piece before the time is watched.
constexpr size_t long_walk = 128;

// A token of a piece, and which of the piece's bytes it stands for.
struct PieceToken {
  int32_t id;
  uint32_t begin;
  uint32_t end;
};

// The third stage of a pipeline: a piece of text to the tokens of a vocabulary.
class TokenModel {
 public:
  virtual ~TokenModel() = default;

  // Adds the tokens of a piece (not empty, well-formed UTF-8) to `tokens`. weft::Error where the piece is not in the
  // vocabulary and there is nothing to stand for the unknown, or the work goes beyond the budget of its text.
  virtual void tokenize(std::string_view piece, TextBudget& budget, std::vector<PieceToken>& tokens) const = 0;
  virtual const TokenTable& vocabulary() const = 0;
  // What an Encoding shows for a token: its name, or the text itself where a model does so for unknown text.
  virtual std::string_view shown(const PieceToken& token, std::string_view piece) const;
  // What stands for the unknown, if anything.
  virtual std::optional<int32_t> unknown_id() const = 0;
  // Whether the same piece always gives the same tokens, so that they may be kept. Not so with dropout.
  virtual bool is_deterministic() const { return true; }
  // The vocabulary (and merges) as a tokenizer.json has them, put into the model's description.
  virtual void write_vocabulary(Json& description) const;
};

// The model of a tokenizer.json; old files lack its type, which its members then tell. FormatError, with the place, for
// one that is not known or not well described.
std::unique_ptr<TokenModel> make_token_model(const JsonView& description);

}  // namespace weft::text
