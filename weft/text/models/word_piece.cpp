#include "weft/text/models/word_piece.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/shorten.h"

namespace weft::text {

namespace {

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0u) != 0x80u; }

}  // namespace

WordPiece::WordPiece(const JsonView& description)
    : vocabulary_(TokenTable::from_json(description.at("vocab"))),
      unknown_(description.get_or<std::string>("unk_token", "[UNK]")),
      longest_(description.get_or<int64_t>("max_input_chars_per_word", 100)) {
  description.allow_only({"type", "vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"});
  std::vector<DoubleArray::Entry> entries;
  for (int32_t id = 0; id < vocabulary_.id_end(); ++id) {
    if (const auto name = vocabulary_.name(id)) entries.emplace_back(*name, id);
  }
  trie_ = DoubleArray(std::move(entries));
  for (const char c : description.get_or<std::string>("continuing_subword_prefix", "##")) {
    continuation_ = trie_.step(continuation_, static_cast<unsigned char>(c));
    has_continuations_ = continuation_ != DoubleArray::root;
    if (!has_continuations_) break;
  }
}

void WordPiece::tokenize(std::string_view piece, TextBudget& budget, std::vector<PieceToken>& tokens) const {
  if (static_cast<int64_t>(piece.size()) > longest_ &&
      std::count_if(piece.begin(), piece.end(), starts_character) > longest_) {
    unknown(piece, tokens);
    return;
  }
  const size_t before = tokens.size();
  for (size_t begin = 0; begin < piece.size();) {
    uint32_t node = begin == 0 ? DoubleArray::root : continuation_;
    int32_t best = begin == 0 || has_continuations_ ? DoubleArray::none : -2;
    size_t best_end = begin;
    size_t end = begin;
    while (end < piece.size() && best != -2) {
      node = trie_.step(node, static_cast<unsigned char>(piece[end]));
      if (node == DoubleArray::root) break;
      ++end;
      const bool whole = end == piece.size() || starts_character(piece[end]);
      if (whole && trie_.value(node) != DoubleArray::none) {
        best = trie_.value(node);
        best_end = end;
      }
    }
    if (end - begin > long_walk) budget.take_time(end - begin);
    if (best < 0) {
      tokens.resize(before);
      unknown(piece, tokens);
      return;
    }
    tokens.push_back({best, static_cast<uint32_t>(begin), static_cast<uint32_t>(best_end)});
    begin = best_end;
  }
}

void WordPiece::unknown(std::string_view piece, std::vector<PieceToken>& tokens) const {
  const int32_t id = vocabulary_.find_id(unknown_);
  if (id < 0)
    fail("tokenizer: \"{}\" is not in the vocabulary, and neither is the unknown token \"{}\"", shortened(piece),
         shortened(unknown_));
  tokens.push_back({id, 0, static_cast<uint32_t>(piece.size())});
}

}  // namespace weft::text
