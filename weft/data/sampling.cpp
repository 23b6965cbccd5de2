#include "weft/data/sampling.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft::data {

void check(const Sampling& sampling, std::string_view task) {
  require(sampling.samples >= 1, "{}: samples is 1 or more, got {}", task, sampling.samples);
  require(sampling.batch_size >= 1, "{}: batch_size is 1 or more, got {}", task, sampling.batch_size);
}

int64_t batches_per_epoch(const Sampling& sampling) {
  return (sampling.samples + sampling.batch_size - 1) / sampling.batch_size;
}

Rng rng_of(const Sampling& sampling) { return Rng{sampling.seed}.split(sampling.split == Split::training ? 1 : 2); }

Batch draw_batch(const Sampling& sampling, int64_t index, const AddSample& add) {
  const int64_t batches = batches_per_epoch(sampling);
  const int64_t epoch = sampling.split == Split::training ? index / batches : 0;
  const int64_t first = index % batches * sampling.batch_size;
  BatchBuilder builder(sampling.packing);
  for (int64_t i = first; i < std::min(first + sampling.batch_size, sampling.samples); ++i) {
    add(static_cast<uint64_t>(epoch * sampling.samples + i), builder);
  }
  return builder.finish();
}

}  // namespace weft::data
