#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/generate/decoder.h"
#include "weft/models/token_input.h"
#include "weft/nn/kv_cache.h"

namespace weft::generate {

// The rows of a decoder: their tokens, and how many of these its cache holds.
class DecoderRows {
 public:
  // Forgets all rows and the cache, and begins one row per prompt. weft::Error if there is no prompt, or none has room.
  void start(std::span<const std::vector<int32_t>> prompts, const DecoderRoom& room);
  // What a cache needs to hold of a row that may grow by room.new_tokens, at most `max_length` tokens.
  int64_t capacity(const DecoderRoom& room, int64_t max_length) const;
  // A new cache with a place for each row; without one, unread() gives all tokens every time.
  void use(nn::KvCache cache);

  void select(std::span<const int64_t> sources);
  void append(std::span<const int32_t> ids);  // one for every row
  // Keeps only the last `kept` tokens of a row; the cache forgets it.
  void cut(size_t row, size_t kept);

  // The tokens that the cache lacks, the rows laid end to end. They count as cached from now on.
  models::TokenInput unread();

  size_t size() const { return rows_.size(); }
  size_t length(size_t row) const { return rows_[row].ids.size(); }
  std::vector<int64_t> prompts() const;  // of each row the number of the prompt that it began with
  nn::KvCache* cache() { return cache_ ? &*cache_ : nullptr; }
  const nn::KvCache* cache() const { return cache_ ? &*cache_ : nullptr; }

 private:
  struct Row {
    std::vector<int32_t> ids;
    size_t cached = 0;
    int64_t prompt = 0;
  };

  std::vector<Row> rows_;
  std::optional<nn::KvCache> cache_;
};

}  // namespace weft::generate
