#include "weft/kernels/embedding.h"

#include <algorithm>
#include <string_view>

#include "weft/base/threads.h"
#include "weft/kernels/simd/embedding_task.h"
#include "weft/kernels/simd/matrix.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/embedding.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/simd/lanes-inl.h"
#include "weft/kernels/simd/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

// Columns per visit of a row: what the dropout factors of the visit need stays in first-level cache.
constexpr int64_t tile = 512;

// y = factors · (scale · x + p) on one stretch of a row; null p or factors are left out.
template <typename T, typename U>
HWY_INLINE void gather_tile(const T* x, float scale, const float* p, const float* factors, int64_t count, U* y) {
  const FloatVec scales = hn::Set(Floats(), scale);
  for_lanes(count, [&](int64_t i, auto part) HWY_ATTR {
    FloatVec value = hn::Mul(load(x + i, part), scales);
    if (p) value = hn::Add(value, load(p + i, part));
    if (factors) value = hn::Mul(value, load(factors + i, part));
    store(value, y + i, part);
  });
}

template <typename T, typename U>
void gather_typed(const EmbeddingGather& g, int64_t begin, int64_t end) {
  const DropoutFactors dropout(g.dropout);
  float scratch[DropoutFactors::scratch_size(tile)];
  const int64_t d = g.y.cols;
  for (int64_t r = begin; r < end; ++r) {
    const T* x = at<T>(g.table, g.ids[r]);
    const float* p = nullptr;
    if (g.positions.data) p = at<float>(g.positions, g.position_ids[r]);
    U* y = at<U>(g.y, r);
    for (int64_t c = 0; c < d; c += tile) {
      const int64_t count = std::min(tile, d - c);
      const float* factors = nullptr;
      if (dropout.active()) factors = dropout.factors(static_cast<uint64_t>(r * d + c), count, scratch);
      gather_tile(x + c, g.scale, p ? p + c : nullptr, factors, count, y + c);
    }
  }
}

void gather_rows(const EmbeddingGather& g, int64_t begin, int64_t end) {
  with_elements(g.table.dtype, g.y.dtype,
                [&](auto in, auto out) { gather_typed<decltype(in), decltype(out)>(g, begin, end); });
}

// All rows, columns [begin, end): whoever owns a column adds to it in the order of the rows.
template <typename T>
void scatter_typed(const EmbeddingScatter& s, int64_t begin, int64_t end) {
  const DropoutFactors dropout(s.dropout);
  float scratch[DropoutFactors::scratch_size(tile)];
  const FloatVec scale = hn::Set(Floats(), s.scale);
  for (int64_t r = 0; r < s.dy.rows; ++r) {
    const T* dy = at<T>(s.dy, r);
    float* sum = at<float>(s.d_table, s.ids[r]);
    for (int64_t c = begin; c < end; c += tile) {
      const int64_t count = std::min(tile, end - c);
      const float* factors = nullptr;
      if (dropout.active()) factors = dropout.factors(static_cast<uint64_t>(r * s.dy.cols + c), count, scratch);
      for_lanes(count, [&](int64_t i, auto part) HWY_ATTR {
        FloatVec value = hn::Mul(load(dy + c + i, part), scale);
        if (factors) value = hn::Mul(value, load(factors + i, part));
        store(hn::Add(load(sum + c + i, part), value), sum + c + i, part);
      });
    }
  }
}

void scatter_columns(const EmbeddingScatter& s, int64_t begin, int64_t end) {
  with_element(s.dy.dtype, [&](auto element) { scatter_typed<decltype(element)>(s, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(gather_rows);
HWY_EXPORT(scatter_columns);

namespace {

// Elements for which a thread is worth starting.
constexpr int64_t grain_elements = 16384;

// `name` is what the message calls an id: "embedding_forward: id".
void check_ids(std::string_view name, const int32_t* ids, int64_t count, int64_t table_rows) {
  require(ids != nullptr || count == 0, "{}s of {} rows are missing", name, count);
  for (int64_t r = 0; r < count; ++r) {
    require(ids[r] >= 0 && ids[r] < table_rows, "{} {} at place {} is not in the table of {} rows", name, ids[r], r,
            table_rows);
  }
}

}  // namespace

void embedding_forward(ConstMatrix table, const int32_t* ids, float scale, ConstMatrix positions,
                       const int32_t* position_ids, const Dropout& dropout, MutableMatrix y) {
  check_matrix("embedding_forward", "table", table);
  check_matrix("embedding_forward", "y", y);
  require(table.cols == y.cols, "embedding_forward: table has {} columns, y {}", table.cols, y.cols);
  check_ids("embedding_forward: id", ids, y.rows, table.rows);
  if (positions.data) {
    check_matrix("embedding_forward", "positions", positions);
    require(positions.dtype == DType::f32 && positions.cols == y.cols,
            "embedding_forward: expected positions in f32 with {} columns, got {} with {}", y.cols,
            name_of(positions.dtype), positions.cols);
    check_ids("embedding_forward: position id", position_ids, y.rows, positions.rows);
  }
  const EmbeddingGather gather{table, ids, scale, positions, position_ids, dropout, y};
  parallel_for(y.rows, row_grain(grain_elements, y.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gather_rows)(gather, begin, end);
  });
}

void embedding_backward(ConstMatrix dy, const int32_t* ids, float scale, const Dropout& dropout,
                        MutableMatrix d_table) {
  check_matrix("embedding_backward", "dy", dy);
  check_matrix("embedding_backward", "d_table", d_table);
  require(d_table.dtype == DType::f32 && d_table.cols == dy.cols,
          "embedding_backward: expected d_table in f32 with {} columns, got {} with {}", dy.cols,
          name_of(d_table.dtype), d_table.cols);
  check_ids("embedding_backward: id", ids, dy.rows, d_table.rows);
  const EmbeddingScatter scatter{dy, ids, scale, dropout, d_table};
  // Blocks of whole cache lines, so that threads share none but at the edges; too few rows are not worth a second
  // thread.
  constexpr int64_t block = 64;
  const int64_t blocks = (dy.cols + block - 1) / block;
  const int64_t grain = row_grain(grain_elements, block * dy.rows);
  parallel_for(blocks, grain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(scatter_columns)(scatter, begin * block, std::min(end * block, dy.cols));
  });
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
