#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/tensor/tensor.h"

namespace weft::nn {

// What one attention layer keeps of the tokens already seen: their keys and values, `capacity` rows for each of `slots`
// sequences, or, of linear attention, the sums that stand for all of them.
struct KvCacheLayer {
  Tensor keys{};    // (slots · capacity, kv_heads · head_dim)
  Tensor values{};  // (slots · capacity, kv_heads · head_dim)
  Tensor states{};  // (slots, kernels::linear_state_size()), f32
};

// The memory of incremental decoding for a whole stack: a forward pass of new tokens with a cache gives what a pass
// over all tokens would give for them. Filled by Attention; advance() once per forward pass.
//
// A sequence lies in one of `slots` places and stays there while its number changes, so reorder() copies only where one
// sequence becomes several, and of those only the rows in which the place taken differs from the sequence put there. A
// state is copied whole; it counts as one row.
class KvCache {
 public:
  // `width` = kv_heads · head_dim. Nothing is allocated beyond layers · 2 · slots · capacity · width elements. The
  // cache starts with one empty sequence per slot.
  KvCache(int64_t layers, int64_t slots, int64_t capacity, int64_t width, DType dtype);
  // The cache of linear attention: layers · slots · state_size numbers (kernels::linear_state_size()), however many
  // tokens `capacity` allows.
  static KvCache of_states(int64_t layers, int64_t slots, int64_t capacity, int64_t state_size);

  int64_t batch() const { return static_cast<int64_t>(sequences_.size()); }
  int64_t slots() const { return slots_; }
  int64_t capacity() const { return capacity_; }
  int64_t length(int64_t sequence) const { return sequences_[static_cast<size_t>(sequence)].length; }
  // The row of a layer's tensors where the first token of a sequence lies; the others follow.
  int64_t first_row(int64_t sequence) const { return slot(sequence) * capacity_; }
  // The row of a layer's states that belongs to a sequence.
  int64_t slot(int64_t sequence) const { return sequences_[static_cast<size_t>(sequence)].slot; }
  bool holds_states() const { return layers_.front().states.defined(); }
  KvCacheLayer& layer(int64_t index) { return layers_[static_cast<size_t>(index)]; }
  // After a forward pass: sequence i has grown by counts[i] tokens.
  void advance(std::span<const int64_t> counts);
  // Forgets all tokens of a sequence beyond the first `length`. A state cannot give tokens back one by one: weft::Error
  // unless all of them are forgotten, or none.
  void truncate(int64_t sequence, int64_t length);
  // From now on there are sources.size() ≤ slots() sequences, and number i goes on from what number sources[i] was
  // until now. A sequence may be named several times (beams that part) or not at all (it is forgotten).
  void reorder(std::span<const int64_t> sources);
  // How many rows reorder() has copied so far, each counted once for all layers.
  int64_t rows_copied() const { return rows_copied_; }

 private:
  struct Sequence {
    int64_t slot = 0;
    int64_t length = 0;
  };

  KvCache(int64_t slots, int64_t capacity);

  std::span<uint64_t> writes_of(int64_t slot);
  int64_t shared_rows(int64_t slot, const Sequence& source);
  // The free slot that has most of `source` already.
  int64_t closest_free_slot(const std::vector<bool>& taken, const Sequence& source);
  void copy_rows(const Sequence& source, int64_t slot, int64_t first);
  void copy_states(int64_t from, int64_t to);

  int64_t slots_;
  int64_t capacity_;
  std::vector<Sequence> sequences_;
  std::vector<KvCacheLayer> layers_;
  // Which write a row of a slot holds, copies having the number of the original; 0: none. Equal numbers in one row of
  // two slots say that the rows up to there are equal. Empty with states.
  std::vector<uint64_t> writes_;
  uint64_t last_write_ = 0;
  int64_t rows_copied_ = 0;
};

}  // namespace weft::nn
