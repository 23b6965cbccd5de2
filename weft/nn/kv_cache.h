#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/tensor/tensor.h"

namespace weft::nn {

// Keys and values of the tokens already seen, for one attention layer: b sequences, `capacity` rows each.
struct KvCacheLayer {
  Tensor keys;    // (b · capacity, kv_heads · head_dim)
  Tensor values;  // (b · capacity, kv_heads · head_dim)
};

// The memory of incremental decoding for a whole stack: a forward pass of new tokens with a cache gives what a pass
// over all tokens would give for them. Filled by Attention; advance() once per forward pass.
class KvCache {
 public:
  // `width` = kv_heads · head_dim. Nothing is allocated beyond layers · 2 · b · capacity · width elements.
  KvCache(int64_t layers, int64_t batch, int64_t capacity, int64_t width, DType dtype);

  int64_t batch() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t capacity() const { return capacity_; }
  int64_t length(int64_t sequence) const { return lengths_[static_cast<size_t>(sequence)]; }
  KvCacheLayer& layer(int64_t index) { return layers_[static_cast<size_t>(index)]; }
  // After a forward pass: sequence i has grown by counts[i] tokens.
  void advance(std::span<const int64_t> counts);
  // Forgets all tokens of a sequence beyond the first `length`.
  void truncate(int64_t sequence, int64_t length);

 private:
  int64_t capacity_;
  std::vector<int64_t> lengths_;
  std::vector<KvCacheLayer> layers_;
};

}  // namespace weft::nn
