#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/json.h"

namespace weft::text {

// Token names and their ids, found either way. Ids may have gaps; a name stands once.
class TokenTable {
 public:
  TokenTable() = default;
  // `{"name": id, …}` of a tokenizer.json. FormatError with the place for ids that are negative, or so far apart that a
  // table of them would be mostly holes.
  static TokenTable from_json(const JsonView& names);
  Json to_json() const;

  // Adds a name; false if it is known already. `id` must not be negative. FormatError for names above 16 KiB.
  bool add(std::string_view name, int32_t id);

  // Adds a name, or gives a known one another id; the old id keeps its name.
  void put(std::string_view name, int32_t id);

  std::optional<int32_t> find(std::string_view name) const {
    const int32_t id = find_id(name);
    return id < 0 ? std::nullopt : std::optional(id);
  }
  int32_t find_id(std::string_view name) const;  // −1 if there is none
  // The name of an id, nothing for a gap.
  std::optional<std::string_view> name(int32_t id) const;

  size_t size() const { return entries_.size(); }                         // names
  int32_t id_end() const { return static_cast<int32_t>(names_.size()); }  // the largest id + 1
  size_t longest() const { return longest_; }                             // bytes of the longest name

 private:
  struct Entry {
    uint64_t hash;
    uint32_t begin;
    uint32_t length;
    int32_t id;
  };

  std::string_view text_of(const Entry& entry) const {
    return std::string_view(text_).substr(entry.begin, entry.length);
  }
  void grow();
  size_t index_of(std::string_view name) const;  // of its entry, npos if there is none
  void name_id(int32_t id, size_t index);

  std::string text_;  // all names, end to end
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  // entry + 1 by hash, open addressing; 0: free
  std::vector<uint32_t> names_;  // entry + 1 by id; 0: none
  size_t longest_ = 0;
};

}  // namespace weft::text
