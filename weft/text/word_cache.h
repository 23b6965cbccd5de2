#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/models/token_model.h"

namespace weft::text {

// Pieces and their tokens, so that a model sees a frequent word once. Bounded: when it is full it begins anew. Not for
// several threads at once.
class WordCache {
 public:
  static constexpr size_t longest_piece = 128;  // bytes; longer ones seldom come again

  WordCache();

  // The tokens kept for a piece; null if there are none. Valid until put().
  const std::span<const PieceToken>* find(std::string_view piece, uint64_t hash) const;
  void put(std::string_view piece, uint64_t hash, std::span<const PieceToken> tokens);

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t piece = 0;
    uint32_t length = 0;  // 0: free
    uint32_t tokens = 0;
    uint32_t count = 0;
  };

  std::vector<Slot> slots_;
  std::string pieces_;
  std::vector<PieceToken> tokens_;
  size_t used_ = 0;
  mutable std::span<const PieceToken> found_;
};

}  // namespace weft::text
