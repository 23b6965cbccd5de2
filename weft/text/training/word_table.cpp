#include "weft/text/training/word_table.h"

#include "weft/base/error.h"
#include "weft/text/hash.h"

namespace weft::text {

uint64_t WordTable::hash_of(std::string_view word) { return hash_bytes(word); }

void WordTable::add(std::string_view word, uint64_t hash, uint64_t count) {
  if ((entries_.size() + 1) * 2 > slots_.size()) grow();
  const size_t mask = slots_.size() - 1;
  for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    if (slots_[slot] == 0) {
      require(entries_.size() < UINT32_MAX - 1, "word counts: more than 2^32 different words");
      entries_.push_back({hash, count, text_.size(), static_cast<uint32_t>(word.size())});
      text_ += word;
      slots_[slot] = static_cast<uint32_t>(entries_.size());
      return;
    }
    Entry& entry = entries_[slots_[slot] - 1];
    if (entry.hash == hash && this->word(entry) == word) {
      entry.count += count;
      return;
    }
  }
}

void WordTable::drop_up_to(uint64_t count) {
  WordTable kept;
  for (const Entry& entry : entries_) {
    if (entry.count > count) kept.add(word(entry), entry.hash, entry.count);
  }
  *this = std::move(kept);
}

void WordTable::clear() {
  text_.clear();
  entries_.clear();
  slots_.assign(slots_.size(), 0);
}

uint64_t WordTable::bytes() const {
  return text_.size() + entries_.size() * sizeof(Entry) + slots_.size() * sizeof(uint32_t);
}

void WordTable::grow() {
  slots_.assign(std::max<size_t>(slots_.size() * 2, 1024), 0);
  for (uint32_t index = 0; index < entries_.size(); ++index) place(index);
}

void WordTable::place(uint32_t index) {
  const size_t mask = slots_.size() - 1;
  size_t slot = entries_[index].hash & mask;
  while (slots_[slot] != 0) slot = (slot + 1) & mask;
  slots_[slot] = index + 1;
}

}  // namespace weft::text
