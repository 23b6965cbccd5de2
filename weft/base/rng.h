#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace weft {

// Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3").
// A value, not a machine: element `index` of a stream is the same whoever asks, in whatever order, on any thread.
// Key = seed; counter = (index / 4, stream); element i is word i % 4 of its block.
struct Rng {
  uint64_t seed = 0;
  uint64_t stream = 0;

  // An independent stream for one site (a layer's dropout, an epoch's shuffle, a step …).
  Rng split(uint64_t site) const;
  std::array<uint32_t, 4> block(uint64_t index) const;

  uint32_t bits(uint64_t index) const { return block(index / 4)[index % 4]; }
  float uniform(uint64_t index) const;  // [0, 1), 24 bits
  float normal(uint64_t index) const;   // mean 0, variance 1 (Box-Muller; takes words 2i and 2i + 1)
  bool bernoulli(double probability, uint64_t index) const;
  uint64_t below(uint64_t bound, uint64_t index) const;  // uniform in [0, bound), bound > 0
  std::vector<int64_t> permutation(int64_t count) const;
};

// bits(i) < keep_threshold(p) has probability 1 − p: the rule by which every dropout decides, p in [0, 1).
uint32_t keep_threshold(double drop_probability);

}  // namespace weft
