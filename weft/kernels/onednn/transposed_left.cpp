#include "weft/kernels/onednn/transposed_left.h"

#include <algorithm>

#include "weft/kernels/onednn/memory.h"
#include "weft/kernels/onednn/packed.h"
#include "weft/kernels/onednn/transpose.h"

namespace weft::kernels::onednn {

namespace {

int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

struct Pieces {
  int64_t k = 0;
  int64_t m = 0;
};

// Pieces of k of nearly equal length, at most 63 cache lines of the transposed rows (each piece goes over c once, so
// short ones cost), an odd number of lines: a power of two would put all rows into a few sets of the caches. Of these
// rows as many as make 4 MiB.
Pieces choose_pieces(const ProductShape& s) {
  const int64_t line = 64 / static_cast<int64_t>(size_of(s.a.dtype));
  const int64_t longest = 63 * line;
  const int64_t count = (s.k + longest - 1) / longest;
  const int64_t k = ((s.k / count + line - 1) / line | 1) * line;
  constexpr int64_t bytes = int64_t{4} << 20;
  const int64_t rows = std::max<int64_t>(64, bytes / (k * static_cast<int64_t>(size_of(s.a.dtype))) / 64 * 64);
  const int64_t parts = (s.m + rows - 1) / rows;
  return {std::min(k, s.k), std::min(round_up((s.m + parts - 1) / parts, 64), s.m)};
}

const std::byte* at(const void* data, DType dtype, int64_t element) {
  return static_cast<const std::byte*>(data) + element * static_cast<int64_t>(size_of(dtype));
}

}  // namespace

bool prefers_transposed_left(const ProductShape& s) {
  const bool plain = s.batch == 1 && !s.b_packed && !s.has_bias && !s.has_residual && s.activation == Activation::none;
  const bool shapes = s.a.col != 1 && s.b.col == 1 && s.c.dtype == DType::f32 && s.c.row == s.n;
  if (!plain || !shapes || s.k < 256) return false;
  // Measured against oneDNN 2.6 on the operands as they lie, one thread, GFLOP/s: bf16 1536x384 k 8192 357 -> 382,
  // 2304x768 k 2048 378 -> 392, 1024x256 k 5120 351 -> 366, but 512x128 k 768 436 -> 425; f32 slower by 5 to 15 %
  // except where the rows of a are so far apart that each is on a page of its own: 50257x768 k 512 166 -> 187 (bf16 273
  // -> 346).
  const bool long_rows = s.m >= 16384;
  return long_rows || (s.a.dtype == DType::bf16 && s.m >= 256 && s.m * s.n >= int64_t{1} << 17);
}

void solve_transposed_left(const Problem& problem) {
  const ProductShape& s = problem.shape;
  const DType dtype = s.a.dtype;
  const Pieces piece = choose_pieces(s);
  for (int64_t k0 = 0; k0 < s.k; k0 += piece.k) {
    const int64_t k = std::min(piece.k, s.k - k0);
    const auto layout = packed_layout(k, s.n, dtype);
    const dnnl::memory packed(layout, engine(), temporary(Temporary::right, layout.get_size()));
    pack_operand(at(problem.data.b, dtype, k0 * s.b.row), s.b, k, s.n, dtype, packed);
    for (int64_t m0 = 0; m0 < s.m; m0 += piece.m) {
      const int64_t m = std::min(piece.m, s.m - m0);
      Problem part = problem;
      part.shape.m = m;
      part.shape.k = k;
      part.shape.a = {dtype, 0, k, 1};
      part.shape.b = {dtype, 0, 0, 0};
      part.shape.b_packed = true;
      part.shape.accumulate = s.accumulate || k0 > 0;
      void* transposed = temporary(Temporary::left, static_cast<size_t>(m * k) * size_of(dtype));
      transpose({at(problem.data.a, dtype, k0 * s.a.col + m0), dtype, k, m, s.a.col}, transposed, k);
      part.data.a = transposed;
      part.data.b = nullptr;
      part.data.packed_b = packed.get();
      part.data.c = const_cast<std::byte*>(at(problem.data.c, s.c.dtype, m0 * s.c.row));
      find_product(part.shape)->run(part.data);
    }
  }
}

}  // namespace weft::kernels::onednn
