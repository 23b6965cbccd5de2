// Fetching of rows into the cache ahead of their use. The rows of one head lie far apart, so the processor does not
// foresee them, and reading them cold takes as long as computing with them. Included after <hwy/foreach_target.h>.

#if defined(WEFT_KERNELS_SIMD_ATTENTION_PREFETCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_ATTENTION_PREFETCH_INL_H_
#undef WEFT_KERNELS_SIMD_ATTENTION_PREFETCH_INL_H_
#else
#define WEFT_KERNELS_SIMD_ATTENTION_PREFETCH_INL_H_
#endif

#include <algorithm>

#include <cstdint>

#include "weft/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {

// A list of blocks of rows, fetched into the second-level cache: the first would lose what is being computed with.
// Walked a few lines of cache at a time while something else is computed.
class Prefetcher {
 public:
  void clear() { blocks_ = current_ = 0, lines_ = 0; }

  // Rows [first, first + rows) of `heads`, columns of `count` heads of `width` from `head` on.
  void add(const ConstHeads& heads, int64_t first, int64_t rows, int64_t head, int64_t count, int64_t width) {
    if (rows <= 0 || blocks_ == max_blocks) return;
    const auto size = static_cast<int64_t>(size_of(heads.dtype));
    const char* row =
        static_cast<const char*>(heads.data) + (first * heads.token_stride + head * heads.head_stride) * size;
    const int64_t bytes = ((count - 1) * heads.head_stride + width) * size;
    list_[blocks_++] = {row, heads.token_stride * size, rows, bytes, 0};
    lines_ += rows * (bytes / line + 1);
  }

  // Divides the lines so that about `steps` calls of step() fetch them all.
  void pace(int64_t steps) { pace_ = lines_ / std::max<int64_t>(steps, 1) + 1; }

  HWY_INLINE void step() {
    if (current_ < blocks_) fetch(pace_);
  }
  void finish() {
    if (current_ < blocks_) fetch(lines_);
  }

 private:
  static constexpr int64_t line = 64;
  static constexpr int max_blocks = 8;
  struct Block {
    const char* row;
    int64_t stride;
    int64_t rows;
    int64_t bytes;
    int64_t at;  // bytes of the row that are fetched
  };

  HWY_NOINLINE void fetch(int64_t lines) {
    while (lines > 0 && current_ < blocks_) {
      Block& block = list_[current_];
      const int64_t end = std::min(block.bytes, block.at + lines * line);
      lines -= (end - block.at + line - 1) / line;
      for (int64_t at = block.at; at < end; at += line) __builtin_prefetch(block.row + at, 0, 2);
      block.at = end;
      if (end < block.bytes) return;
      __builtin_prefetch(block.row + block.bytes - 1, 0, 2);  // rows need not begin with a line
      block.row += block.stride;
      block.at = 0;
      if (--block.rows == 0) ++current_;
    }
  }

  Block list_[max_blocks];
  int blocks_ = 0;
  int current_ = 0;
  int64_t lines_ = 0;
  int64_t pace_ = 1;
};

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
