#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::text {

// Byte strings with a value each, walked from their first byte on. Edges lie in one hash table: a step is one look-up.
class ByteTrie {
 public:
  static constexpr uint32_t root = 0;
  static constexpr int32_t none = -1;

  ByteTrie() : values_(1, none) {}

  // Later values for the same key replace earlier ones.
  void add(std::string_view key, int32_t value);
  // The child of `node` by `byte`, 0 if there is none.
  uint32_t step(uint32_t node, unsigned char byte) const {
    if (slots_.empty()) return 0;
    const uint64_t key = edge(node, byte);
    for (size_t slot = slot_of(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].key == key) return slots_[slot].child;
      if (slots_[slot].child == 0) return 0;
    }
  }
  int32_t value(uint32_t node) const { return values_[node]; }  // of the key that ends here, or none
  bool empty() const { return values_.size() == 1; }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t child = 0;  // 0: free, as no edge leads to the root
  };

  static uint64_t edge(uint32_t node, unsigned char byte) { return uint64_t{node} << 8 | byte; }
  size_t slot_of(uint64_t key) const { return (key * 0x9e3779b97f4a7c15 >> 32) & (slots_.size() - 1); }
  void insert(uint64_t key, uint32_t child);

  std::vector<Slot> slots_;
  std::vector<int32_t> values_;  // by node
};

}  // namespace weft::text
