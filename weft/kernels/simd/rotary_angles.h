#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "weft/kernels/rotary.h"

namespace weft::kernels {

// Cosines and sines by position, computed when a position first comes up and kept: in double they cost more than
// turning a whole token, and the same positions come back in every layer and step.
//
// A row holds what one position needs, in the order in which the layout reads it:
//   half_split   cos of the rotary_dim/2 pairs, then their sin
//   interleaved  cos of the pairs, each twice, then −sin and +sin of each pair
class RotaryAngles {
 public:
  explicit RotaryAngles(const Rotary& rotary);

  bool serves(const Rotary& rotary) const;
  // Appends the row of each position to `rows`; rows stay where they are as long as this object lives.
  void find(const int32_t* position_ids, int64_t tokens, std::vector<const float*>& rows);
  int64_t bytes();

 private:
  static constexpr int64_t block = 16;  // neighbouring positions computed together

  std::vector<float> compute_block(int64_t first_position) const;
  void compute_row(int64_t position, float* row) const;

  Rotary rotary_;
  int64_t row_size_;
  std::vector<double> frequencies_;  // radians per position, of each pair
  std::mutex mutex_;
  std::unordered_map<int64_t, std::vector<float>> blocks_;
};

// The table that serves `rotary`, shared by all who ask for the same. A few tables of bounded size are kept.
std::shared_ptr<RotaryAngles> rotary_angles(const Rotary& rotary);

}  // namespace weft::kernels
