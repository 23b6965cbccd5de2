#include "weft/text/forms/character_map_check.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/text/limits.h"
#include "weft/text/little_endian.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

constexpr size_t most_growth = 16;      // of what is replaced; published maps make 33 bytes of 3
constexpr uint32_t most_prefixes = 32;  // keys that begin a text; the library has room for as many
constexpr uint32_t none = UINT32_MAX;

// The trie: a double array (Yata, Darts-clone), whose nodes may share what is below them.
class MapCheck {
 public:
  MapCheck(std::string_view trie, std::string_view replacements, const std::string& place)
      : trie_(trie), replacements_(replacements), place_(place), index_of_(trie.size() / 4, none) {
    require<FormatError>(!index_of_.empty(), "{}: the trie is empty", place_);
  }

  size_t run() {
    find_nodes();
    require<FormatError>(longest_chain() <= most_prefixes, "{}: more than {} keys begin each other", place_,
                         most_prefixes);
    return growth_;
  }

 private:
  struct Node {
    uint32_t unit;
    uint32_t depth;  // bytes of the shortest key that leads here
    uint32_t first_child = 0;
    bool ends_key = false;
  };

  uint32_t unit(size_t index) const { return read_u32(trie_.substr(index * 4)); }
  static size_t offset_of(uint32_t unit) { return size_t{unit >> 10} << ((unit & 0x200u) >> 6); }

  // All nodes that a text could lead to, breadth first. The library looks at the place of every byte below a node.
  void find_nodes() {
    add({.unit = 0, .depth = 0});
    for (size_t i = 0; i < nodes_.size(); ++i) {
      Node node = nodes_[i];
      const uint32_t own = unit(node.unit);
      const size_t base = node.unit ^ offset_of(own);
      node.ends_key = i > 0 && (own >> 8 & 1u) != 0;
      if (node.ends_key) check_leaf(base, node.depth);
      node.first_child = static_cast<uint32_t>(children_.size());
      nodes_[i] = node;
      for (size_t byte = 0; byte < 256; ++byte) {
        const size_t child = base ^ byte;
        require_inside(child);
        if ((unit(child) & 0x800000ffu) != byte) continue;
        if (index_of_[child] == none) add({.unit = static_cast<uint32_t>(child), .depth = node.depth + 1});
        children_.push_back(index_of_[child]);
      }
    }
  }

  void add(Node node) {
    index_of_[node.unit] = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back(node);
  }

  void require_inside(size_t index) const {
    require<FormatError>(index < index_of_.size(), "{}: the trie leads out of its {} units", place_, index_of_.size());
  }

  void check_leaf(size_t base, size_t depth) {
    require_inside(base);
    const size_t begin = unit(base) & 0x7fffffffu;
    require<FormatError>(begin <= replacements_.size(), "{}: replacement at byte {} of {}", place_, begin,
                         replacements_.size());
    const std::string_view text = replacements_.substr(begin);
    const size_t length = std::min(text.find('\0'), text.size());
    const size_t most = std::min(longest_replacement, most_growth * depth);
    require<FormatError>(length <= most, "{}: expected replacements of at most {} bytes for {}, got {}", place_, most,
                         depth, length);
    require<FormatError>(is_utf8(text.substr(0, length)), "{}: the replacement at byte {} is not UTF-8", place_, begin);
    growth_ = std::max(growth_, (length + depth - 1) / depth);
  }

  // The most keys of which each begins the next, found from the last nodes up.
  uint32_t longest_chain() const {
    constexpr uint32_t open = none - 1;
    std::vector<uint32_t> chains(nodes_.size(), none);  // keys from a node down; none: not visited
    std::vector<std::pair<uint32_t, uint32_t>> path;    // nodes, and their next child
    const auto enter = [&](uint32_t node) {
      chains[node] = open;
      path.emplace_back(node, nodes_[node].first_child);
    };
    enter(0);
    while (!path.empty()) {
      const uint32_t node = path.back().first;
      const uint32_t end = node + 1 < nodes_.size() ? nodes_[node + 1].first_child : children_end();
      if (path.back().second < end) {
        const uint32_t child = children_[path.back().second++];
        require<FormatError>(chains[child] != open, "{}: the trie leads back into itself", place_);
        if (chains[child] == none) enter(child);
        continue;
      }
      uint32_t longest = 0;
      for (uint32_t i = nodes_[node].first_child; i < end; ++i) longest = std::max(longest, chains[children_[i]]);
      chains[node] = longest + (nodes_[node].ends_key ? 1 : 0);
      path.pop_back();
    }
    return chains[0];
  }
  uint32_t children_end() const { return static_cast<uint32_t>(children_.size()); }

  std::string_view trie_;
  std::string_view replacements_;
  const std::string& place_;
  std::vector<uint32_t> index_of_;  // in nodes_, by unit
  std::vector<Node> nodes_;
  std::vector<uint32_t> children_;  // of all nodes, one after another
  size_t growth_ = 1;
};

}  // namespace

size_t check_character_map(std::string_view map, const std::string& place) {
  if (map.empty()) return 1;
  require<FormatError>(map.size() > 4, "{}: expected more than 4 bytes, got {}", place, map.size());
  const size_t size = read_u32(map);
  map.remove_prefix(4);
  require<FormatError>(size < map.size() && size % 4 == 0, "{}: a trie of {} bytes does not fit the {} that follow",
                       place, size, map.size());
  return MapCheck(map.substr(0, size), map.substr(size), place).run();
}

}  // namespace weft::text
