#include "weft/kernels/elementwise.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>

#include "weft/base/threads.h"
#include "weft/kernels/simd/matrix.h"
#include "weft/kernels/simd/row_blocks.h"
#include "weft/kernels/simd/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/elementwise.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/simd/lanes-inl.h"
#include "weft/kernels/simd/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

void convert_span(const ConstMatrix& x, const MutableMatrix& y, const Span& span) {
  with_elements(x.dtype, y.dtype, [&](auto from, auto to) HWY_ATTR {
    const auto* in = at<decltype(from)>(x, span.row, span.col);
    auto* out = at<decltype(to)>(y, span.row, span.col);
    for_lanes(span.count, [&](int64_t i, auto part) HWY_ATTR { store(load(in + i, part), out + i, part); });
  });
}

void accumulate_span(const ConstMatrix& x, const MutableMatrix& y, float scale, const Span& span) {
  const FloatVec factor = hn::Set(Floats(), scale);
  with_elements(x.dtype, y.dtype, [&](auto from, auto to) HWY_ATTR {
    const auto* in = at<decltype(from)>(x, span.row, span.col);
    auto* out = at<decltype(to)>(y, span.row, span.col);
    for_lanes(span.count, [&](int64_t i, auto part) HWY_ATTR {
      store(hn::MulAdd(load(in + i, part), factor, load(out + i, part)), out + i, part);
    });
  });
}

void scale_span(const MutableMatrix& x, float factor, const Span& span) {
  const FloatVec factors = hn::Set(Floats(), factor);
  with_element(x.dtype, [&](auto element) HWY_ATTR {
    auto* data = at<decltype(element)>(x, span.row, span.col);
    for_lanes(span.count,
              [&](int64_t i, auto part) HWY_ATTR { store(hn::Mul(load(data + i, part), factors), data + i, part); });
  });
}

void fill_span(const MutableMatrix& x, float value, const Span& span) {
  const FloatVec values = hn::Set(Floats(), value);
  with_element(x.dtype, [&](auto element) HWY_ATTR {
    auto* data = at<decltype(element)>(x, span.row, span.col);
    for_lanes(span.count, [&](int64_t i, auto part) HWY_ATTR { store(values, data + i, part); });
  });
}

// Runs body(i, count, factors) for pieces of a span that are short enough for their factors to stay in first-level
// cache.
template <typename Body>
HWY_INLINE void with_factors(const DropoutFactors& dropout, uint64_t first, int64_t count, const Body& body) {
  constexpr int64_t piece = 512;
  HWY_ALIGN float scratch[static_cast<size_t>(DropoutFactors::scratch_size(piece))];
  for (int64_t i = 0; i < count; i += piece) {
    const int64_t length = std::min(piece, count - i);
    body(i, length, dropout.factors(first + static_cast<uint64_t>(i), length, scratch));
  }
}

void add_dropout_span(const ConstMatrix& x, const ConstMatrix& y, const Dropout& dropout, const MutableMatrix& sum,
                      const Span& span) {
  const DropoutFactors factors(dropout);
  const uint64_t first = static_cast<uint64_t>(span.row * x.cols + span.col);
  with_elements(x.dtype, y.dtype, [&](auto x_element, auto y_element) HWY_ATTR {
    with_element(sum.dtype, [&](auto sum_element) HWY_ATTR {
      const auto* a = at<decltype(x_element)>(x, span.row, span.col);
      const auto* b = at<decltype(y_element)>(y, span.row, span.col);
      auto* out = at<decltype(sum_element)>(sum, span.row, span.col);
      if (!factors.active()) {
        for_lanes(span.count, [&](int64_t i, auto part)
                                  HWY_ATTR { store(hn::Add(load(a + i, part), load(b + i, part)), out + i, part); });
        return;
      }
      with_factors(factors, first, span.count, [&](int64_t begin, int64_t count, const float* factor) HWY_ATTR {
        for_lanes(count, [&](int64_t i, auto part) HWY_ATTR {
          const int64_t c = begin + i;
          store(hn::MulAdd(load(factor + i, part), load(b + c, part), load(a + c, part)), out + c, part);
        });
      });
    });
  });
}

void apply_dropout_span(const ConstMatrix& x, const Dropout& dropout, const MutableMatrix& y, const Span& span) {
  const DropoutFactors factors(dropout);
  const uint64_t first = static_cast<uint64_t>(span.row * x.cols + span.col);
  with_elements(x.dtype, y.dtype, [&](auto from, auto to) HWY_ATTR {
    const auto* in = at<decltype(from)>(x, span.row, span.col);
    auto* out = at<decltype(to)>(y, span.row, span.col);
    with_factors(factors, first, span.count, [&](int64_t begin, int64_t count, const float* factor) HWY_ATTR {
      for_lanes(count, [&](int64_t i, auto part) HWY_ATTR {
        store(hn::Mul(load(factor + i, part), load(in + begin + i, part)), out + begin + i, part);
      });
    });
  });
}

// Rows [begin, end) added to `partial`, four at a time so that the sums are read and written less often than x.
template <typename T, bool convert>
HWY_FLATTEN void column_sums_rows(const ConstMatrix& x, int64_t begin, int64_t end, float* partial,
                                  const MutableMatrix& converted) {
  for (int64_t r = begin; r < end; r += 4) {
    const int64_t rows = std::min<int64_t>(4, end - r);
    const T* in = at<T>(x, r);
    BFloat16* out = convert ? at<BFloat16>(converted, r) : nullptr;
    const auto take = [&](int64_t row, int64_t c, auto part) HWY_ATTR {
      const FloatVec value = load(in + row * x.stride + c, part);
      if constexpr (convert) store(value, out + row * converted.stride + c, part);
      return value;
    };
    for_lanes(x.cols, [&](int64_t c, auto part) HWY_ATTR {
      FloatVec sum = load(partial + c, part);
      if (rows == 4) {
        const FloatVec low = hn::Add(take(0, c, part), take(1, c, part));
        sum = hn::Add(sum, hn::Add(low, hn::Add(take(2, c, part), take(3, c, part))));
      } else {
        for (int64_t row = 0; row < rows; ++row) sum = hn::Add(sum, take(row, c, part));
      }
      store(sum, partial + c, part);
    });
  }
}

void column_sums_block(const ConstMatrix& x, int64_t begin, int64_t end, float* partial,
                       const MutableMatrix& converted) {
  std::fill(partial, partial + x.cols, 0.0f);
  with_element(x.dtype, [&](auto element) HWY_ATTR {
    using T = decltype(element);
    if (converted.data != nullptr) {
      column_sums_rows<T, true>(x, begin, end, partial, converted);
    } else {
      column_sums_rows<T, false>(x, begin, end, partial, converted);
    }
  });
}

double sum_of_squares_piece(const float* x, int64_t count) {
  using Doubles = hn::ScalableTag<double>;
  using HalfFloats = hn::Rebind<float, Doubles>;
  const Doubles d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<Doubles> s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  const auto add = [&](int64_t i, hn::Vec<Doubles>& sum) HWY_ATTR {
    const hn::Vec<Doubles> value = hn::PromoteTo(d, hn::LoadU(HalfFloats(), x + i));
    sum = hn::MulAdd(value, value, sum);
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    add(i, s0);
    add(i + lanes, s1);
    add(i + 2 * lanes, s2);
    add(i + 3 * lanes, s3);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

bool all_finite_piece(const float* x, int64_t count) {
  const Words words;
  const WordVec exponent = hn::Set(words, 0x7f800000u);
  WordVec largest = hn::Zero(words);
  for_lanes(count, [&](int64_t i, auto part) HWY_ATTR {
    largest = hn::Max(largest, hn::And(hn::BitCast(words, load(x + i, part)), exponent));
  });
  return hn::AllFalse(words, hn::Eq(largest, exponent));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(convert_span);
HWY_EXPORT(accumulate_span);
HWY_EXPORT(scale_span);
HWY_EXPORT(fill_span);
HWY_EXPORT(add_dropout_span);
HWY_EXPORT(apply_dropout_span);
HWY_EXPORT(column_sums_block);
HWY_EXPORT(sum_of_squares_piece);
HWY_EXPORT(all_finite_piece);

namespace {

// Elements for which a thread is worth starting: about ten microseconds of memory traffic.
constexpr int64_t grain_elements = 32768;

// Shares the elements of matrices of one size among the threads. `flat`: all of them are contiguous.
void for_spans(const ConstMatrix& size, bool flat, FunctionRef<void(const Span&)> body) {
  if (size.rows == 0 || size.cols == 0) return;
  if (!flat) {
    parallel_for(size.rows, row_grain(grain_elements, size.cols), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) body({r, 0, size.cols});
    });
    return;
  }
  constexpr int64_t unit = 1024;  // pieces start on cache lines of an aligned array, for f32 and bf16
  const int64_t count = size.rows * size.cols;
  parallel_for((count + unit - 1) / unit, grain_elements / unit, [&](int64_t begin, int64_t end) {
    body({0, begin * unit, std::min(count, end * unit) - begin * unit});
  });
}

}  // namespace

void convert(ConstMatrix x, MutableMatrix y) {
  check_matrix("convert", "x", x);
  check_matrix("convert", "y", y, x);
  for_spans(x, contiguous(x) && contiguous(y), [&](const Span& span) {
    HWY_DYNAMIC_DISPATCH(convert_span)(x, y, span);
  });
}

void accumulate(ConstMatrix x, MutableMatrix y, float scale) {
  check_matrix("accumulate", "x", x);
  check_matrix("accumulate", "y", y, x);
  for_spans(x, contiguous(x) && contiguous(y), [&](const Span& span) {
    HWY_DYNAMIC_DISPATCH(accumulate_span)(x, y, scale, span);
  });
}

void scale(MutableMatrix x, float factor) {
  check_matrix("scale", "x", x);
  for_spans(x, contiguous(x), [&](const Span& span) { HWY_DYNAMIC_DISPATCH(scale_span)(x, factor, span); });
}

void fill(MutableMatrix x, float value) {
  check_matrix("fill", "x", x);
  for_spans(x, contiguous(x), [&](const Span& span) { HWY_DYNAMIC_DISPATCH(fill_span)(x, value, span); });
}

void add_dropout(ConstMatrix x, ConstMatrix y, const Dropout& dropout, MutableMatrix sum) {
  check_matrix("add_dropout", "x", x);
  check_matrix("add_dropout", "y", y, x);
  check_matrix("add_dropout", "sum", sum, x);
  keep_threshold(dropout.probability);  // refuses what is no probability, before any thread starts
  for_spans(x, contiguous(x) && contiguous(y) && contiguous(sum), [&](const Span& span) {
    HWY_DYNAMIC_DISPATCH(add_dropout_span)(x, y, dropout, sum, span);
  });
}

void apply_dropout(ConstMatrix x, const Dropout& dropout, MutableMatrix y) {
  check_matrix("apply_dropout", "x", x);
  check_matrix("apply_dropout", "y", y, x);
  keep_threshold(dropout.probability);
  const bool flat = contiguous(x) && contiguous(y);
  if (dropout.probability == 0.0f) {
    for_spans(x, flat, [&](const Span& span) { HWY_DYNAMIC_DISPATCH(convert_span)(x, y, span); });
    return;
  }
  for_spans(x, flat, [&](const Span& span) { HWY_DYNAMIC_DISPATCH(apply_dropout_span)(x, dropout, y, span); });
}

void column_sums(ConstMatrix x, float* out, bool accumulate, const MutableMatrix* converted) {
  check_matrix("column_sums", "x", x);
  require(out != nullptr || x.cols == 0, "column_sums: out must have {} elements, got none", x.cols);
  const MutableMatrix copy = converted != nullptr ? *converted : MutableMatrix();
  if (converted != nullptr) {
    check_matrix("column_sums", "converted", copy, x);
    require(copy.dtype == DType::bf16, "column_sums: converted must be bf16, got {}", name_of(copy.dtype));
  }
  const RowBlocks blocks(x.rows);
  float* partial = scratch_floats(ScratchUse::partial_sums, blocks.count() * x.cols);
  parallel_for(blocks.count(), blocks.grain(grain_elements, x.cols), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      HWY_DYNAMIC_DISPATCH(column_sums_block)(x, blocks.begin(b), blocks.end(b), partial + b * x.cols, copy);
    }
  });
  combine_partial_sums(blocks, x.cols, partial, x.cols, accumulate, out);
}

double sum_of_squares(const float* x, int64_t count) {
  require(count >= 0 && (x != nullptr || count == 0), "sum_of_squares: no data for {} elements", count);
  // Cut by the count alone, so that the result does not depend on the thread count.
  constexpr int64_t max_pieces = 256;
  const int64_t piece = std::max<int64_t>(65536, (count + max_pieces - 1) / max_pieces);
  const int64_t pieces = (count + piece - 1) / piece;
  std::array<double, max_pieces> partial{};
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      partial[static_cast<size_t>(i)] =
          HWY_DYNAMIC_DISPATCH(sum_of_squares_piece)(x + i * piece, std::min(piece, count - i * piece));
    }
  });
  return std::accumulate(partial.begin(), partial.end(), 0.0);
}

int64_t first_non_finite(const float* x, int64_t count) {
  require(count >= 0 && (x != nullptr || count == 0), "first_non_finite: no data for {} elements", count);
  constexpr int64_t piece = 65536;
  const int64_t pieces = (count + piece - 1) / piece;
  std::atomic<int64_t> first_piece = pieces;
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && i < first_piece; ++i) {
      if (HWY_DYNAMIC_DISPATCH(all_finite_piece)(x + i * piece, std::min(piece, count - i * piece))) continue;
      int64_t known = first_piece;
      while (i < known && !first_piece.compare_exchange_weak(known, i)) {
      }
    }
  });
  for (int64_t i = first_piece * piece; i < count; ++i) {
    if (!std::isfinite(x[i])) return i;
  }
  return -1;
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
