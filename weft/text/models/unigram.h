#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/text/double_array.h"
#include "weft/text/models/token_model.h"

namespace weft::text {

// The most probable segmentation under a unigram language model (Kudo 2018), found by Viterbi's algorithm over the
// piece. Characters that no token covers cost 10 more than the least probable token, and neighbours of them join.
class Unigram final : public TokenModel {
 public:
  explicit Unigram(const JsonView& description);
  void tokenize(std::string_view piece, TextBudget& budget, std::vector<PieceToken>& tokens) const override;
  const TokenTable& vocabulary() const override { return vocabulary_; }
  std::string_view shown(const PieceToken& token, std::string_view piece) const override;
  std::optional<int32_t> unknown_id() const override;
  void write_vocabulary(Json& description) const override;

 private:
  struct Step {
    double score;
    uint32_t begin;
    int32_t id;
  };

  void find_best_steps(std::string_view piece, TextBudget& budget, std::span<Step> steps) const;
  void add_unknown(std::string_view piece, const PieceToken& unknown, std::vector<PieceToken>& tokens) const;

  std::vector<std::string> pieces_;  // names by id
  std::vector<double> scores_;       // log probabilities by id
  TokenTable vocabulary_;
  DoubleArray trie_;  // to ids
  double unknown_score_;
  int32_t unknown_ = -1;
  bool byte_fallback_;
};

}  // namespace weft::text
