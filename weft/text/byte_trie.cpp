#include "weft/text/byte_trie.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "weft/base/error.h"

namespace weft::text {

void ByteTrie::insert(uint64_t key, uint32_t child) {
  if (values_.size() * 2 > slots_.size()) {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(std::max<size_t>(64, slots_.size() * 2)));
    for (const Slot& slot : old) {
      if (slot.child != 0) insert(slot.key, slot.child);
    }
  }
  size_t slot = slot_of(key);
  while (slots_[slot].child != 0) slot = (slot + 1) & (slots_.size() - 1);
  slots_[slot] = {key, child};
}

void ByteTrie::add(std::string_view key, int32_t value) {
  uint32_t node = root;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    uint32_t child = step(node, byte);
    if (child == 0) {
      require(values_.size() < std::numeric_limits<uint32_t>::max(), "byte trie: more than 2^32 nodes");
      child = static_cast<uint32_t>(values_.size());
      values_.push_back(none);
      insert(edge(node, byte), child);
    }
    node = child;
  }
  values_[node] = value;
}

}  // namespace weft::text
