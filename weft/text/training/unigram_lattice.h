#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/byte_trie.h"

namespace weft::text {

struct UnigramPiece {
  std::string text;
  double score;  // natural logarithm of its probability
};

// All ways to cut a word into pieces. One object serves any number of words, one after another.
class UnigramLattice {
 public:
  // Both must outlive the lattice. The trie's values are indices of pieces; every character must be a piece.
  UnigramLattice(const ByteTrie& trie, std::span<const UnigramPiece> pieces) : trie_(trie), pieces_(pieces) {}

  void set_word(std::string_view word);
  // Adds to `expected`, by piece, how often it is expected in the word, times `weight`; returns the logarithm of the
  // word's probability: the sum over all ways to cut it (forward-backward).
  double add_expected(double weight, std::span<double> expected);
  // The most probable way to cut the word, as pieces from its end to its start. `except` is a piece that must not be
  // the whole word. Empty if there is no way.
  static constexpr int32_t no_piece = -1;
  const std::vector<int32_t>& best(int32_t except = no_piece);

 private:
  struct Edge {
    uint32_t begin;
    uint32_t end;
    int32_t piece;
  };

  const ByteTrie& trie_;
  std::span<const UnigramPiece> pieces_;
  size_t length_ = 0;
  std::vector<Edge> edges_;  // by begin, then by end
  std::vector<double> forward_, backward_;
  std::vector<int32_t> last_edge_;
  std::vector<int32_t> path_;
};

}  // namespace weft::text
