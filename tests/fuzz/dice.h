#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/rng.h"

namespace weft::fuzz {

// Random choices one after another, the same for the same seed everywhere.
class Dice {
 public:
  explicit Dice(uint64_t seed) : rng_{.seed = seed, .stream = 0} {}

  uint64_t below(uint64_t bound) { return rng_.below(bound, count_++); }
  bool one_in(uint64_t n) { return below(n) == 0; }
  template <typename List>
  const auto& one_of(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  Rng rng_;
  uint64_t count_ = 0;
};

}  // namespace weft::fuzz
