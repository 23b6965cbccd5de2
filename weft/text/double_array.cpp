#include "weft/text/double_array.h"

#include <algorithm>
#include <array>
#include <span>

#include "weft/base/error.h"

namespace weft::text {

namespace {

constexpr uint32_t block = 256;
constexpr uint32_t most_tried = 1024;  // places, before children go to a block of their own

}  // namespace

// Places the children of one node at a time; entries are sorted, so those below a node stand together.
class DoubleArrayBuilder {
 public:
  DoubleArrayBuilder(const std::vector<DoubleArray::Entry>& entries, std::vector<DoubleArray::Node>& nodes)
      : entries_(entries), nodes_(nodes) {}

  void build() {
    add_block();
    nodes_[DoubleArray::root].parent = DoubleArray::root;
    std::vector<Branch> open = {{DoubleArray::root, 0, entries_.size(), 0}};
    while (!open.empty()) {
      Branch branch = open.back();
      open.pop_back();
      if (branch.begin < branch.end && entries_[branch.begin].first.size() == branch.depth) {
        nodes_[branch.node].value = entries_[branch.begin++].second;
      }
      if (branch.begin < branch.end) place_children(branch, open);
    }
    nodes_[DoubleArray::root].parent = DoubleArray::nobody;  // nobody's child
  }

 private:
  // The entries [begin, end) that share the `depth` bytes that lead to the node.
  struct Branch {
    uint32_t node;
    size_t begin;
    size_t end;
    size_t depth;
  };

  void add_block() {
    require(nodes_.size() < DoubleArray::nobody - 2 * block, "double array: more than 2^32 nodes");
    nodes_.resize(nodes_.size() + block);
  }

  bool is_free(uint32_t place) const { return nodes_[place].parent == DoubleArray::nobody; }

  void place_children(const Branch& branch, std::vector<Branch>& open) {
    std::array<unsigned char, block> bytes;
    std::array<size_t, block + 1> begins;
    uint32_t count = 0;
    for (size_t i = branch.begin; i < branch.end; ++i) {
      const auto byte = static_cast<unsigned char>(entries_[i].first[branch.depth]);
      if (count > 0 && bytes[count - 1] == byte) continue;
      bytes[count] = byte;
      begins[count++] = i;
    }
    begins[count] = branch.end;
    const uint32_t base = find_base({bytes.data(), count});
    nodes_[branch.node].base = base;
    for (uint32_t i = 0; i < count; ++i) nodes_[base ^ bytes[i]].parent = branch.node;
    for (uint32_t i = count; i-- > 0;) {
      open.push_back({base ^ bytes[i], begins[i], begins[i + 1], branch.depth + 1});
    }
  }

  uint32_t find_base(std::span<const unsigned char> bytes) {
    while (first_free_ < nodes_.size() && !is_free(first_free_)) ++first_free_;
    const auto size = static_cast<uint32_t>(nodes_.size());
    const uint32_t tried = std::min(size, first_free_ + most_tried);
    for (uint32_t place = first_free_; place < tried; ++place) {
      if (fits(place, bytes)) return place ^ bytes[0];
    }
    // Holes that fit nobody may fill what was tried: the last block has room of its own.
    for (uint32_t place = std::max(tried, size - block); place < size; ++place) {
      if (fits(place, bytes)) return place ^ bytes[0];
    }
    add_block();
    return size;
  }

  // Whether the children are all in free places if the first of them goes to `place`.
  bool fits(uint32_t place, std::span<const unsigned char> bytes) const {
    const uint32_t base = place ^ bytes[0];
    return std::all_of(bytes.begin(), bytes.end(), [&](unsigned char byte) { return is_free(base ^ byte); });
  }

  const std::vector<DoubleArray::Entry>& entries_;
  std::vector<DoubleArray::Node>& nodes_;
  uint32_t first_free_ = 0;
};

DoubleArray::DoubleArray(std::vector<Entry> entries) {
  std::erase_if(entries, [](const Entry& entry) { return entry.first.empty(); });
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.first < b.first; });
  size_t kept = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (kept > 0 && entries[kept - 1].first == entries[i].first) --kept;
    entries[kept++] = entries[i];
  }
  entries.resize(kept);
  DoubleArrayBuilder(entries, nodes_).build();
}

}  // namespace weft::text
