#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::text {

// What two neighbouring tokens merge to, and how early: the lower rank first.
struct Merge {
  static constexpr uint32_t never = UINT32_MAX;

  uint32_t rank = never;
  int32_t id = -1;
};

// Merges by the pair of ids, in one hash table.
class PairTable {
 public:
  // A later merge of the same pair replaces an earlier one.
  void put(int32_t left, int32_t right, Merge merge) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    Slot& slot = slot_of(key(left, right));
    if (slot.merge.rank == Merge::never) ++count_;
    slot = {key(left, right), merge};
  }
  Merge find(int32_t left, int32_t right) const {
    if (slots_.empty()) return {};
    return const_cast<PairTable*>(this)->slot_of(key(left, right)).merge;
  }

 private:
  struct Slot {
    uint64_t key = 0;
    Merge merge;
  };

  static uint64_t key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  Slot& slot_of(uint64_t key) {
    const size_t mask = slots_.size() - 1;
    size_t index = (key * 0x9e3779b97f4a7c15 >> 24) & mask;
    while (slots_[index].merge.rank != Merge::never && slots_[index].key != key) index = (index + 1) & mask;
    return slots_[index];
  }
  void grow() {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(std::max<size_t>(64, slots_.size() * 2)));
    for (const Slot& slot : old) {
      if (slot.merge.rank != Merge::never) slot_of(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace weft::text
