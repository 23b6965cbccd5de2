#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::text {

// How often each pair of neighbouring tokens occurs, by the two ids in one number: pairs compare as the numbers do.
class PairCounts {
 public:
  static uint64_t key(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }
  static uint32_t left(uint64_t key) { return static_cast<uint32_t>(key >> 32); }
  static uint32_t right(uint64_t key) { return static_cast<uint32_t>(key); }

  // The place of a pair, the same from its first mention on.
  uint32_t index(uint64_t key) {
    if ((pairs_.size() + 1) * 2 > slots_.size()) grow();
    size_t slot = first_slot(key);
    for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
      if (pairs_[slots_[slot] - 1].key == key) return slots_[slot] - 1;
    }
    pairs_.push_back({key, 0});
    slots_[slot] = static_cast<uint32_t>(pairs_.size());
    return slots_[slot] - 1;
  }
  uint64_t key_of(uint32_t index) const { return pairs_[index].key; }
  int64_t& count(uint32_t index) { return pairs_[index].count; }
  uint32_t size() const { return static_cast<uint32_t>(pairs_.size()); }

 private:
  struct Pair {
    uint64_t key;
    int64_t count;
  };

  size_t first_slot(uint64_t key) const {
    const uint64_t mixed = (key ^ key >> 29) * 0x9e3779b97f4a7c15;
    return (mixed >> 20) & (slots_.size() - 1);
  }
  void grow() {
    slots_.assign(slots_.empty() ? 4096 : slots_.size() * 2, 0);
    for (uint32_t i = 0; i < pairs_.size(); ++i) {
      size_t slot = first_slot(pairs_[i].key);
      while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = i + 1;
    }
  }

  std::vector<Pair> pairs_;
  std::vector<uint32_t> slots_;  // pair + 1, open addressing; 0: free
};

}  // namespace weft::text
