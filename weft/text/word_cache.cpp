#include "weft/text/word_cache.h"

#include <cstring>
#include <new>

namespace weft::text {

namespace {

uint64_t load_8(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, 8);
  return word;
}

uint32_t load_4(const char* bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, 4);
  return word;
}

// Short strings, for which a call of memcmp() costs more than it does.
bool are_same(const char* a, const char* b, size_t size) {
  if (size >= 8) {
    for (size_t i = 0; i + 8 < size; i += 8) {
      if (load_8(a + i) != load_8(b + i)) return false;
    }
    return load_8(a + size - 8) == load_8(b + size - 8);
  }
  if (size >= 4) return load_4(a) == load_4(b) && load_4(a + size - 4) == load_4(b + size - 4);
  return a[0] == b[0] && a[size / 2] == b[size / 2] && a[size - 1] == b[size - 1];
}

// The number of the calling thread among those that ever asked.
size_t thread_number() {
  static std::atomic<size_t> threads = 0;
  thread_local const size_t number = threads++;
  return number;
}

}  // namespace

template <typename E, size_t count>
WordCache::Table<E, count>::Table() : memory_(std::calloc(count + 1, sizeof(E))) {
  if (!memory_) throw std::bad_alloc();
  void* begin = memory_.get();
  size_t space = (count + 1) * sizeof(E);
  entries_ = static_cast<E*>(std::align(alignof(E), count * sizeof(E), begin, space));
}

template <typename E, size_t count>
bool WordCache::Table<E, count>::find(std::string_view piece, uint64_t hash, std::vector<PieceToken>& tokens) const {
  const E* entry = entries_ + (hash & (count - 2));
  for (size_t way = 0; way < 2; ++way, ++entry) {
    if (entry->length != piece.size() || entry->hash != static_cast<uint32_t>(hash >> 32)) continue;
    if (!are_same(entry->piece.data(), piece.data(), piece.size())) continue;
    for (size_t i = 0; i < entry->count; ++i) {
      tokens.push_back({entry->ids[i], entry->begins[i], entry->ends[i]});
    }
    return true;
  }
  return false;
}

template <typename E, size_t count>
void WordCache::Table<E, count>::put(std::string_view piece, uint64_t hash, const std::vector<PieceToken>& tokens) {
  E* entry = entries_ + (hash & (count - 2));
  if (entry->length != 0) entry[1] = *entry;
  entry->hash = static_cast<uint32_t>(hash >> 32);
  entry->length = static_cast<uint8_t>(piece.size());
  entry->count = static_cast<uint8_t>(tokens.size());
  std::memcpy(entry->piece.data(), piece.data(), piece.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    entry->ids[i] = tokens[i].id;
    entry->begins[i] = static_cast<uint8_t>(tokens[i].begin);
    entry->ends[i] = static_cast<uint8_t>(tokens[i].end);
  }
}

template class WordCache::Table<WordCache::Words, 1 << 16>;
template class WordCache::Table<WordCache::LongWords, 1 << 12>;

bool WordCache::find(std::string_view piece, uint64_t hash, std::vector<PieceToken>& tokens) const {
  return (piece.size() <= Words::longest && words_.find(piece, hash, tokens)) || long_words_.find(piece, hash, tokens);
}

void WordCache::put(std::string_view piece, uint64_t hash, const std::vector<PieceToken>& tokens) {
  if (piece.size() <= Words::longest && tokens.size() <= Words::most_tokens) {
    words_.put(piece, hash, tokens);
  } else if (tokens.size() <= LongWords::most_tokens) {
    long_words_.put(piece, hash, tokens);
  }
}

WordCachePool::~WordCachePool() {
  for (Place& place : places_) delete place.cache.load();
}

std::unique_ptr<WordCache> WordCachePool::take() {
  const size_t first = thread_number();
  for (size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[(first + i) % places_.size()];
    if (place.cache.load(std::memory_order_relaxed) == nullptr) continue;
    if (WordCache* cache = place.cache.exchange(nullptr, std::memory_order_acquire)) {
      return std::unique_ptr<WordCache>(cache);
    }
  }
  return std::make_unique<WordCache>();
}

void WordCachePool::give_back(std::unique_ptr<WordCache> cache) {
  const size_t first = thread_number();
  for (size_t i = 0; i < places_.size(); ++i) {
    WordCache* empty = nullptr;
    Place& place = places_[(first + i) % places_.size()];
    if (place.cache.compare_exchange_strong(empty, cache.get(), std::memory_order_release)) {
      (void)cache.release();
      return;
    }
  }
}

}  // namespace weft::text
