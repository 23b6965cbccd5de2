#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace weft::kernels::onednn {

// Values made on first use and kept, at most `capacity` of them: the least recently used goes first. A value that is in
// use when it goes lives until its last user lets go. Safe to call from several threads.
template <typename Key, typename Value, typename Hash>
class LruCache {
 public:
  explicit LruCache(size_t capacity) : capacity_(capacity) {}

  std::shared_ptr<Value> get(const Key& key) {
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) {
      if (found->second != entries_.begin()) entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->value;
    }
    entries_.push_front({key, std::make_shared<Value>(key)});
    index_.emplace(key, entries_.begin());
    if (entries_.size() > capacity_) {
      index_.erase(entries_.back().key);
      entries_.pop_back();
    }
    return entries_.front().value;
  }

  int64_t size() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(entries_.size());
  }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<Value> value;
  };

  const size_t capacity_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;
  std::unordered_map<Key, typename std::list<Entry>::iterator, Hash> index_;
};

// Folds integers into a hash; the constant is 2^64 divided by the golden ratio.
class Hasher {
 public:
  template <typename T>
  Hasher& add(T value) {
    hash_ = (hash_ ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15u;
    hash_ ^= hash_ >> 32;
    return *this;
  }
  size_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0;
};

}  // namespace weft::kernels::onednn
