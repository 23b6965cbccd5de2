#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::kernels {

// Sums over the rows of a matrix, cut into blocks that depend on the number of rows alone: threads share the blocks,
// each block has its own partial sums, and these are added in order. So the result does not depend on the thread count.
struct RowBlocks {
  explicit RowBlocks(int64_t rows) : rows(rows), length(std::max(min_length, (rows + max_count - 1) / max_count)) {}

  int64_t count() const { return (rows + length - 1) / length; }
  int64_t begin(int64_t block) const { return block * length; }
  int64_t end(int64_t block) const { return std::min(rows, (block + 1) * length); }
  // Blocks that one thread should at least get, when a thread is worth starting for `elements` elements.
  int64_t grain(int64_t elements, int64_t cols) const { return elements / std::max<int64_t>(length * cols, 1) + 1; }

  static constexpr int64_t min_length = 64;
  static constexpr int64_t max_count = 32;
  int64_t rows;
  int64_t length;
};

// out[c] (+)= Σ_b partial[b · stride + c], b in order.
inline void combine_partial_sums(const RowBlocks& blocks, int64_t cols, const float* partial, int64_t stride,
                                 bool accumulate, float* out) {
  if (!accumulate) std::fill(out, out + cols, 0.0f);
  for (int64_t b = 0; b < blocks.count(); ++b, partial += stride) {
    for (int64_t c = 0; c < cols; ++c) out[c] += partial[c];
  }
}

}  // namespace weft::kernels
