#include "weft/text/word_cache.h"

namespace weft::text {

namespace {

constexpr size_t slot_count = 1 << 16;
constexpr size_t most_words = slot_count / 2;

}  // namespace

WordCache::WordCache() : slots_(slot_count) {}

const std::span<const PieceToken>* WordCache::find(std::string_view piece, uint64_t hash) const {
  for (size_t i = hash & (slot_count - 1); slots_[i].length != 0; i = (i + 1) & (slot_count - 1)) {
    const Slot& slot = slots_[i];
    if (slot.hash == hash && std::string_view(pieces_).substr(slot.piece, slot.length) == piece) {
      found_ = std::span(tokens_).subspan(slot.tokens, slot.count);
      return &found_;
    }
  }
  return nullptr;
}

void WordCache::put(std::string_view piece, uint64_t hash, std::span<const PieceToken> tokens) {
  if (used_ == most_words) {
    slots_.assign(slot_count, {});
    pieces_.clear();
    tokens_.clear();
    used_ = 0;
  }
  size_t i = hash & (slot_count - 1);
  while (slots_[i].length != 0) i = (i + 1) & (slot_count - 1);
  slots_[i] = {hash, static_cast<uint32_t>(pieces_.size()), static_cast<uint32_t>(piece.size()),
               static_cast<uint32_t>(tokens_.size()), static_cast<uint32_t>(tokens.size())};
  pieces_ += piece;
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  ++used_;
}

}  // namespace weft::text
