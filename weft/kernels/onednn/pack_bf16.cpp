#include "weft/kernels/onednn/pack_bf16.h"

#include <algorithm>

#include "weft/base/threads.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/onednn/memory.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/onednn/pack_bf16.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include "weft/kernels/onednn/squares-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels::onednn {
namespace HWY_NAMESPACE {
namespace {

constexpr int64_t block_k = 32;
constexpr int64_t block_n = 64;

// A block at the edge: element by element, zeros outside.
void pack_edge(const uint16_t* from, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n, uint16_t* to) {
  std::fill(to, to + block_k * block_n, uint16_t{0});
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < n; ++j) to[i / 2 * 2 * block_n + 2 * j + i % 2] = from[i * k_stride + j * n_stride];
  }
}

// b stored (k, n).
void pack_rows(const uint16_t* from, int64_t stride, uint16_t* to) {
  for (int64_t i = 0; i < block_k; i += 2) {
    for (int64_t j = 0; j < block_n; j += 8) {
      interleave(from + i * stride + j, from + (i + 1) * stride + j, to + i * block_n + 2 * j);
    }
  }
}

// b stored (n, k): pairs are words already, and want transposing.
void pack_columns(const uint16_t* from, int64_t stride, uint16_t* to) {
  for (int64_t j = 0; j < block_n; j += 4) {
    for (int64_t i = 0; i < block_k; i += 8) {
      transpose_words(from + j * stride + i, stride, reinterpret_cast<uint32_t*>(to + i * block_n) + j, block_n);
    }
  }
}

// Blocks [begin, end), counted as they lie in `to`.
void pack_blocks(const ConstMatrix& b, bool transposed, int64_t begin, int64_t end, uint16_t* to) {
  const int64_t k = transposed ? b.cols : b.rows;
  const int64_t n = transposed ? b.rows : b.cols;
  const int64_t k_stride = transposed ? 1 : b.stride;
  const int64_t n_stride = transposed ? b.stride : 1;
  const int64_t k_blocks = (k + block_k - 1) / block_k;
  for (int64_t block = begin; block < end; ++block) {
    const int64_t i = block % k_blocks * block_k;
    const int64_t j = block / k_blocks * block_n;
    const uint16_t* from = static_cast<const uint16_t*>(b.data) + i * k_stride + j * n_stride;
    uint16_t* place = to + block * block_k * block_n;
    if (i + block_k > k || j + block_n > n) {
      pack_edge(from, k_stride, n_stride, std::min(block_k, k - i), std::min(block_n, n - j), place);
    } else if (transposed) {
      pack_columns(from, b.stride, place);
    } else {
      pack_rows(from, b.stride, place);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels::onednn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels::onednn {

HWY_EXPORT(pack_blocks);

dnnl::memory::desc paired_layout(int64_t k, int64_t n) {
  return {{k, n}, dnnl::memory::data_type::bf16, dnnl::memory::format_tag::BA16a64b2a};
}

namespace {

constexpr int64_t block_size = 32 * 64;

// A matrix in f32: rounded in bands of n that fit into the second-level cache, and packed from there.
void pack_rounded(const ConstMatrix& b, bool transposed, uint16_t* packed) {
  const int64_t k = transposed ? b.cols : b.rows;
  const int64_t n = transposed ? b.rows : b.cols;
  const int64_t k_blocks = (k + 31) / 32;
  const int64_t blocks = std::clamp<int64_t>((int64_t{1} << 17) / (k_blocks * block_size), 1, 16);
  const int64_t width = 64 * blocks;
  parallel_for((n + width - 1) / width, 1, [&](int64_t begin, int64_t end) {
    for (int64_t band = begin; band < end; ++band) {
      const int64_t n0 = band * width;
      const int64_t count = std::min(width, n - n0);
      const float* from = static_cast<const float*>(b.data) + n0 * (transposed ? b.stride : 1);
      const int64_t rows = transposed ? count : k;
      const int64_t cols = transposed ? k : count;
      void* memory = temporary(Temporary::left, static_cast<size_t>(rows * cols) * sizeof(uint16_t));
      const MutableMatrix rounded{memory, DType::bf16, rows, cols, cols};
      convert({from, DType::f32, rows, cols, b.stride}, rounded);
      HWY_DYNAMIC_DISPATCH(pack_blocks)
      (rounded, transposed, 0, k_blocks * ((count + 63) / 64), packed + n0 / 64 * k_blocks * block_size);
    }
  });
}

}  // namespace

void pack_pairs(const ConstMatrix& b, bool transposed, void* packed) {
  uint16_t* to = static_cast<uint16_t*>(packed);
  if (b.dtype == DType::f32) return pack_rounded(b, transposed, to);
  const int64_t k_blocks = ((transposed ? b.cols : b.rows) + 31) / 32;
  const int64_t n_blocks = ((transposed ? b.rows : b.cols) + 63) / 64;
  constexpr int64_t grain = 32;  // 128 KiB: worth waking a thread
  parallel_for(k_blocks * n_blocks, grain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(pack_blocks)(b, transposed, begin, end, to);
  });
}

}  // namespace weft::kernels::onednn
#endif
