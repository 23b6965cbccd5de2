#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/text/models/pair_table.h"
#include "weft/text/models/token_model.h"

namespace weft::text {

// Byte-pair encoding (Sennrich et al. 2016): a piece begins as its characters; of the neighbours that may merge, those
// of the lowest rank, and of those the leftmost, merge first, until none is left.
class Bpe final : public TokenModel {
 public:
  explicit Bpe(const JsonView& description);
  void tokenize(std::string_view piece, TextBudget& budget, std::vector<PieceToken>& tokens) const override;
  const TokenTable& vocabulary() const override { return vocabulary_; }
  std::optional<int32_t> unknown_id() const override { return unknown_ < 0 ? std::nullopt : std::optional(unknown_); }
  bool is_deterministic() const override { return dropout_ == 0.0; }
  void write_vocabulary(Json& description) const override;

 private:
  // A token in the making: a link of a chain, as merging takes links out.
  struct Symbol {
    int32_t id;
    uint32_t length;  // bytes; 0: merged into the one before
    uint32_t previous;
    uint32_t next;
  };

  void read_merges(const JsonView& merges);
  void add_merge(const JsonView& place, std::string_view left, std::string_view right);
  void begin_symbols(std::string_view piece, TextBudget& budget, std::vector<Symbol>& symbols) const;
  bool add_bytes(std::string_view text, std::vector<Symbol>& symbols) const;
  int32_t character_id(std::string_view character, bool first, bool last) const;
  void merge_short(std::vector<Symbol>& symbols) const;
  void merge_long(std::vector<Symbol>& symbols, TextBudget& budget) const;
  bool drops_out() const;

  TokenTable vocabulary_;
  PairTable merges_;
  std::vector<std::pair<std::string, std::string>> merge_names_;
  bool merges_as_pairs_ = false;
  std::array<int32_t, 0x800> character_ids_;  // of the first characters of Unicode, where no prefix or suffix is added
  std::optional<std::string> unknown_name_;
  int32_t unknown_ = -1;
  std::string prefix_;
  std::string suffix_;
  bool fuse_unknown_;
  bool byte_fallback_;
  bool ignore_merges_;
  double dropout_;
  mutable std::atomic<uint64_t> draws_ = 0;  // random numbers used up by dropout
};

}  // namespace weft::text
