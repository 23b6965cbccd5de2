#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/text/models/token_model.h"

namespace weft::text {

// Pieces and their tokens, so that a model sees a frequent word once. Each piece has two places, by its hash, and a new
// one takes the place of an older: memory is bounded, and no piece costs more than two looks. Not for several threads
// at once.
class WordCache {
 public:
  static constexpr size_t longest_piece = 120;  // bytes; longer ones seldom come again

  // Has the places of a piece on their way from memory when find() looks at them.
  void fetch(uint64_t hash) const { words_.fetch(hash); }
  // Adds the tokens kept for a piece (of 1 to longest_piece bytes) to `tokens`; false if there are none.
  bool find(std::string_view piece, uint64_t hash, std::vector<PieceToken>& tokens) const;
  // Keeps them, unless they are too many.
  void put(std::string_view piece, uint64_t hash, const std::vector<PieceToken>& tokens);

 private:
  // A piece of up to `bytes` bytes and up to `most` tokens, in whole cache lines.
  template <size_t bytes, size_t most>
  struct alignas(64) Entry {
    static constexpr size_t longest = bytes;
    static constexpr size_t most_tokens = most;

    uint32_t hash;
    uint8_t length;  // 0: free
    uint8_t count;
    std::array<char, bytes> piece;
    std::array<int32_t, most> ids;
    std::array<uint8_t, most> begins;
    std::array<uint8_t, most> ends;
  };

  // Pages of it become real when they are first written to.
  template <typename E, size_t count>
  class Table {
   public:
    Table();
    void fetch(uint64_t hash) const {
      const E* entry = entries_ + (hash & (count - 2));
      __builtin_prefetch(entry);
      __builtin_prefetch(entry + 1);
    }
    bool find(std::string_view piece, uint64_t hash, std::vector<PieceToken>& tokens) const;
    void put(std::string_view piece, uint64_t hash, const std::vector<PieceToken>& tokens);

   private:
    struct Free {
      void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<void, Free> memory_;
    E* entries_;
  };

  using Words = Entry<26, 5>;
  using LongWords = Entry<longest_piece, 20>;
  static_assert(sizeof(Words) == 64 && sizeof(LongWords) == 256);

  Table<Words, 1 << 16> words_;
  Table<LongWords, 1 << 12> long_words_;
};

// Caches of one tokenizer, each lent to one thread at a time, mostly the same to the same thread. Threads do not wait
// for each other.
class WordCachePool {
 public:
  WordCachePool() = default;
  ~WordCachePool();
  WordCachePool(const WordCachePool&) = delete;
  WordCachePool& operator=(const WordCachePool&) = delete;

  std::unique_ptr<WordCache> take();
  void give_back(std::unique_ptr<WordCache> cache);

 private:
  struct alignas(64) Place {
    std::atomic<WordCache*> cache = nullptr;
  };
  std::array<Place, 16> places_;
};

}  // namespace weft::text
