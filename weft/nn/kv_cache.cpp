#include "weft/nn/kv_cache.h"

#include <algorithm>
#include <cstring>

#include "weft/base/error.h"

namespace weft::nn {

namespace {

void check_sizes(int64_t layers, int64_t slots, int64_t capacity, int64_t width) {
  require(layers > 0 && slots > 0 && capacity > 0 && width > 0,
          "kv cache: layers, sequences, capacity and width are positive, got {}, {}, {}, {}", layers, slots, capacity,
          width);
}

}  // namespace

KvCache::KvCache(int64_t slots, int64_t capacity) : slots_(slots), capacity_(capacity) {
  for (int64_t slot = 0; slot < slots; ++slot) sequences_.push_back({.slot = slot, .length = 0});
}

KvCache::KvCache(int64_t layers, int64_t slots, int64_t capacity, int64_t width, DType dtype)
    : KvCache(slots, capacity) {
  check_sizes(layers, slots, capacity, width);
  for (int64_t i = 0; i < layers; ++i) {
    layers_.push_back(
        {Tensor::empty({slots * capacity, width}, dtype), Tensor::empty({slots * capacity, width}, dtype)});
  }
  writes_.assign(static_cast<size_t>(slots * capacity), 0);
}

KvCache KvCache::of_states(int64_t layers, int64_t slots, int64_t capacity, int64_t state_size) {
  check_sizes(layers, slots, capacity, state_size);
  KvCache cache(slots, capacity);
  for (int64_t i = 0; i < layers; ++i) cache.layers_.push_back({.states = Tensor::zeros({slots, state_size})});
  return cache;
}

void KvCache::advance(std::span<const int64_t> counts) {
  require(counts.size() == sequences_.size(), "kv cache: {} counts for {} sequences", counts.size(), sequences_.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    Sequence& sequence = sequences_[i];
    require(sequence.length + counts[i] <= capacity_, "kv cache: sequence {} has room for {} tokens, not for {}", i,
            capacity_, sequence.length + counts[i]);
    for (int64_t row = 0; row < counts[i] && !holds_states(); ++row) {
      writes_of(sequence.slot)[static_cast<size_t>(sequence.length + row)] = ++last_write_;
    }
    sequence.length += counts[i];
  }
}

void KvCache::truncate(int64_t sequence, int64_t length) {
  require(sequence >= 0 && sequence < batch() && length >= 0 && length <= this->length(sequence),
          "kv cache: sequence {} cannot be cut to {} tokens", sequence, length);
  if (holds_states()) {
    require(
        length == 0 || length == this->length(sequence),
        "kv cache: the state of linear attention holds sequence {} as a sum; it cannot be cut from {} to {} tokens, "
        "only to none",
        sequence, this->length(sequence), length);
    sequences_[static_cast<size_t>(sequence)].length = length;
    for (KvCacheLayer& layer : layers_) {
      if (length == 0) layer.states.slice(0, slot(sequence), slot(sequence) + 1).fill_zero();
    }
    return;
  }
  sequences_[static_cast<size_t>(sequence)].length = length;
  std::ranges::fill(writes_of(sequences_[static_cast<size_t>(sequence)].slot).subspan(static_cast<size_t>(length)),
                    uint64_t{0});
}

void KvCache::reorder(std::span<const int64_t> sources) {
  require(static_cast<int64_t>(sources.size()) <= slots_ && !sources.empty(),
          "kv cache: reordered to {} sequences, there is room for 1 to {}", sources.size(), slots_);
  std::vector<bool> taken(static_cast<size_t>(slots_), false);
  std::vector<Sequence> sequences;
  std::vector<size_t> copies;  // sequences whose source stays with one before them
  for (size_t i = 0; i < sources.size(); ++i) {
    require(sources[i] >= 0 && sources[i] < batch(), "kv cache: sequence {} goes on from sequence {}, there are {}", i,
            sources[i], batch());
    sequences.push_back(sequences_[static_cast<size_t>(sources[i])]);
    const auto slot = static_cast<size_t>(sequences.back().slot);
    if (taken[slot]) copies.push_back(i);
    taken[slot] = true;
  }
  for (const size_t i : copies) {
    const int64_t slot = closest_free_slot(taken, sequences[i]);
    if (holds_states()) {
      copy_states(sequences[i].slot, slot);
    } else {
      copy_rows(sequences[i], slot, shared_rows(slot, sequences[i]));
    }
    sequences[i].slot = slot;
    taken[static_cast<size_t>(slot)] = true;
  }
  sequences_ = std::move(sequences);
}

std::span<uint64_t> KvCache::writes_of(int64_t slot) {
  return std::span(writes_).subspan(static_cast<size_t>(slot * capacity_), static_cast<size_t>(capacity_));
}

int64_t KvCache::shared_rows(int64_t slot, const Sequence& source) {
  if (holds_states()) return 0;
  const std::span<const uint64_t> wanted = writes_of(source.slot).first(static_cast<size_t>(source.length));
  return std::ranges::mismatch(wanted, writes_of(slot)).in1 - wanted.begin();
}

int64_t KvCache::closest_free_slot(const std::vector<bool>& taken, const Sequence& source) {
  int64_t closest = -1;
  int64_t most = -1;
  for (int64_t slot = 0; slot < slots_; ++slot) {
    if (taken[static_cast<size_t>(slot)]) continue;
    const int64_t shared = shared_rows(slot, source);
    if (shared > most) closest = slot;
    most = std::max(most, shared);
  }
  return closest;
}

void KvCache::copy_rows(const Sequence& source, int64_t slot, int64_t first) {
  const int64_t count = source.length - first;
  for (KvCacheLayer& layer : layers_) {
    for (Tensor* rows : {&layer.keys, &layer.values}) {
      const int64_t row_bytes = rows->dim(-1) * static_cast<int64_t>(size_of(rows->dtype()));
      std::memcpy(rows->raw() + (slot * capacity_ + first) * row_bytes,
                  rows->raw() + (source.slot * capacity_ + first) * row_bytes, static_cast<size_t>(count * row_bytes));
    }
  }
  const std::span<const uint64_t> from = writes_of(source.slot).first(static_cast<size_t>(source.length));
  const std::span<uint64_t> to = writes_of(slot);
  std::ranges::copy(from, to.begin());
  std::ranges::fill(to.subspan(from.size()), uint64_t{0});
  rows_copied_ += count;
}

void KvCache::copy_states(int64_t from, int64_t to) {
  for (KvCacheLayer& layer : layers_) {
    const int64_t size = layer.states.dim(-1);
    float* states = layer.states.data<float>();
    std::copy_n(states + from * size, size, states + to * size);
  }
  ++rows_copied_;
}

}  // namespace weft::nn
