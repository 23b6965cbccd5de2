#include "weft/nn/kv_cache.h"

#include "weft/base/error.h"

namespace weft::nn {

KvCache::KvCache(int64_t layers, int64_t batch, int64_t capacity, int64_t width, DType dtype) : capacity_(capacity) {
  require(layers > 0 && batch > 0 && capacity > 0 && width > 0,
          "kv cache: layers, sequences, capacity and width are positive, got {}, {}, {}, {}", layers, batch, capacity,
          width);
  lengths_.assign(static_cast<size_t>(batch), 0);
  for (int64_t i = 0; i < layers; ++i) {
    layers_.push_back(
        {Tensor::empty({batch * capacity, width}, dtype), Tensor::empty({batch * capacity, width}, dtype)});
  }
}

void KvCache::advance(std::span<const int64_t> counts) {
  require(counts.size() == lengths_.size(), "kv cache: {} counts for {} sequences", counts.size(), lengths_.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    require(lengths_[i] + counts[i] <= capacity_, "kv cache: sequence {} has room for {} tokens, not for {}", i,
            capacity_, lengths_[i] + counts[i]);
    lengths_[i] += counts[i];
  }
}

void KvCache::truncate(int64_t sequence, int64_t length) {
  require(sequence >= 0 && sequence < batch() && length >= 0 && length <= this->length(sequence),
          "kv cache: sequence {} cannot be cut to {} tokens", sequence, length);
  lengths_[static_cast<size_t>(sequence)] = length;
}

}  // namespace weft::nn
