#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::text {

// Byte strings with a value each, fixed once made, walked from their first byte on. A double array (Aoe 1989) in the
// form of Yata: the child of a node by a byte stands at the node's base ^ byte, if the parent that stands there is the
// node. A step reads one place, and the places of a branch lie close together.
class DoubleArray {
 public:
  static constexpr uint32_t root = 0;
  static constexpr int32_t none = -1;

  using Entry = std::pair<std::string_view, int32_t>;

  DoubleArray() : DoubleArray(std::vector<Entry>{}) {}
  // Of entries with the same key the last counts; empty keys do not. weft::Error above 2^32 nodes.
  explicit DoubleArray(std::vector<Entry> entries);

  // The child of `node` by `byte`, `root` if there is none.
  uint32_t step(uint32_t node, unsigned char byte) const {
    const uint32_t child = nodes_[node].base ^ byte;
    return nodes_[child].parent == node ? child : root;
  }
  int32_t value(uint32_t node) const { return nodes_[node].value; }  // of the key that ends here, or none
  size_t places() const { return nodes_.size(); }                    // free ones among them

 private:
  friend class DoubleArrayBuilder;

  static constexpr uint32_t nobody = UINT32_MAX;

  struct Node {
    uint32_t base = 0;
    uint32_t parent = nobody;  // nobody: free
    int32_t value = none;
  };

  std::vector<Node> nodes_;  // whole blocks of 256, so that base ^ byte is always among them
};

}  // namespace weft::text
