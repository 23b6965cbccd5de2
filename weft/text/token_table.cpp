#include "weft/text/token_table.h"

#include <algorithm>
#include <limits>

#include "weft/base/error.h"
#include "weft/text/hash.h"
#include "weft/text/limits.h"

namespace weft::text {

namespace {

// Ids of published vocabularies have few gaps. A table of n names may have ids up to 4 n + 2^20.
int64_t largest_id(size_t names) { return static_cast<int64_t>(names) * 4 + (int64_t{1} << 20); }

}  // namespace

TokenTable TokenTable::from_json(const JsonView& names) {
  if (!names.value().is_object()) names.expected("an object of names and ids");
  TokenTable table;
  const int64_t limit = std::min<int64_t>(largest_id(names.value().size()), std::numeric_limits<int32_t>::max());
  for (const auto& [name, value] : names.value().items()) {
    const bool whole = value.is_number_integer();
    if (!whole || value.get<int64_t>() < 0 || value.get<int64_t>() >= limit) {
      names.at(name).expected(fmt::format("an id from 0 to {}", limit - 1));
    }
    table.add(name, value.get<int32_t>());
  }
  return table;
}

Json TokenTable::to_json() const {
  Json names = Json::object();
  for (const Entry& entry : entries_) names[std::string(text_of(entry))] = entry.id;
  return names;
}

bool TokenTable::add(std::string_view name, int32_t id) {
  if (find_id(name) >= 0) return false;
  require(id >= 0, "token table: the id of \"{}\" is negative: {}", name, id);
  require<FormatError>(name.size() <= longest_name, "token table: expected names of at most {} bytes, got one of {}",
                       longest_name, name.size());
  require(text_.size() + name.size() < std::numeric_limits<uint32_t>::max(), "token table: more than 4 GiB of names");
  if (entries_.size() * 2 >= slots_.size()) grow();
  const Entry entry{hash_bytes(name), static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(name.size()), id};
  text_ += name;
  entries_.push_back(entry);
  size_t slot = entry.hash & (slots_.size() - 1);
  while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
  slots_[slot] = static_cast<uint32_t>(entries_.size());
  name_id(id, entries_.size() - 1);
  longest_ = std::max(longest_, name.size());
  return true;
}

void TokenTable::grow() {
  slots_.assign(std::max<size_t>(16, slots_.size() * 2), 0);
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t slot = entries_[i].hash & (slots_.size() - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<uint32_t>(i + 1);
  }
}

size_t TokenTable::index_of(std::string_view name) const {
  if (slots_.empty()) return std::string_view::npos;
  const uint64_t hash = hash_bytes(name);
  for (size_t slot = hash & (slots_.size() - 1);; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot] == 0) return std::string_view::npos;
    const size_t index = slots_[slot] - 1;
    if (entries_[index].hash == hash && text_of(entries_[index]) == name) return index;
  }
}

int32_t TokenTable::find_id(std::string_view name) const {
  const size_t index = index_of(name);
  return index == std::string_view::npos ? -1 : entries_[index].id;
}

void TokenTable::name_id(int32_t id, size_t index) {
  const auto place = static_cast<size_t>(id);
  if (place >= names_.size()) names_.resize(place + 1, 0);
  if (names_[place] == 0) names_[place] = static_cast<uint32_t>(index + 1);
}

void TokenTable::put(std::string_view name, int32_t id) {
  if (add(name, id)) return;
  const size_t index = index_of(name);
  entries_[index].id = id;
  name_id(id, index);
}

std::optional<std::string_view> TokenTable::name(int32_t id) const {
  if (id < 0 || id >= id_end() || names_[static_cast<size_t>(id)] == 0) return std::nullopt;
  return text_of(entries_[names_[static_cast<size_t>(id)] - 1]);
}

}  // namespace weft::text
