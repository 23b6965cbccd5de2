#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

struct WordCount {
  std::string word;
  uint64_t count = 0;

  bool operator==(const WordCount&) const = default;
};

// How often each word was seen. The words lie end to end in one string, so that a million of them is few allocations.
class WordTable {
 public:
  struct Entry {
    uint64_t hash;
    uint64_t count;
    uint64_t begin;
    uint32_t length;
  };

  static uint64_t hash_of(std::string_view word);

  void add(std::string_view word, uint64_t count) { add(word, hash_of(word), count); }
  void add(std::string_view word, uint64_t hash, uint64_t count);
  // Forgets every word that was seen `count` times or less.
  void drop_up_to(uint64_t count);
  void clear();

  const std::vector<Entry>& entries() const { return entries_; }
  std::string_view word(const Entry& entry) const { return std::string_view(text_).substr(entry.begin, entry.length); }
  // Bytes that words, entries and slots take.
  uint64_t bytes() const;

 private:
  void grow();
  void place(uint32_t index);

  std::string text_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  // entry + 1 by hash, open addressing; 0: free
};

}  // namespace weft::text
