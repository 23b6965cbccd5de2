#include "weft/kernels/norm.h"

#include <cmath>

#include "weft/base/threads.h"
#include "weft/kernels/simd/matrix.h"
#include "weft/kernels/simd/row_blocks.h"
#include "weft/kernels/simd/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/norm.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/simd/lanes-inl.h"
#include "weft/kernels/simd/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

// A row passes through first-level cache as f32: the steps below are separate loops over it, memory is read and written
// once.

// s = x + dropout(residual)
void load_sum(const NormForward& p, const DropoutFactors& dropout, int64_t row, float* s, float* scratch) {
  const int64_t d = p.x.cols;
  if (p.residual.data == nullptr) {
    with_element(p.x.dtype, [&](auto element) HWY_ATTR {
      const auto* x = at<decltype(element)>(p.x, row);
      for_lanes(d, [&](int64_t c, auto part) HWY_ATTR { store(load(x + c, part), s + c, part); });
    });
    return;
  }
  const float* factor = dropout.active() ? dropout.factors(static_cast<uint64_t>(row * d), d, scratch) : nullptr;
  with_elements(p.x.dtype, p.residual.dtype, [&](auto x_element, auto residual_element) HWY_ATTR {
    const auto* x = at<decltype(x_element)>(p.x, row);
    const auto* residual = at<decltype(residual_element)>(p.residual, row);
    for_lanes(d, [&](int64_t c, auto part) HWY_ATTR {
      FloatVec added = load(residual + c, part);
      if (factor != nullptr) added = hn::Mul(added, load(factor + c, part));
      store(hn::Add(load(x + c, part), added), s + c, part);
    });
  });
}

// to = from in the element type of `to`.
void store_row(const float* from, const MutableMatrix& to, int64_t row) {
  with_element(to.dtype, [&](auto element) HWY_ATTR {
    auto* out = at<decltype(element)>(to, row);
    for_lanes(to.cols, [&](int64_t c, auto part) HWY_ATTR { store(load(from + c, part), out + c, part); });
  });
}

// y = (s − mean) · rstd · gamma + beta
void normalise(const NormForward& p, int64_t row, float mean, float rstd, const float* s) {
  const FloatVec means = hn::Set(Floats(), mean);
  const FloatVec rstds = hn::Set(Floats(), rstd);
  with_element(p.y.dtype, [&](auto element) HWY_ATTR {
    auto* y = at<decltype(element)>(p.y, row);
    for_lanes(p.x.cols, [&](int64_t c, auto part) HWY_ATTR {
      const FloatVec normal = hn::Mul(hn::Sub(load(s + c, part), means), rstds);
      const FloatVec gamma = load(p.gamma + c, part);
      store(p.beta != nullptr ? hn::MulAdd(normal, gamma, load(p.beta + c, part)) : hn::Mul(normal, gamma), y + c,
            part);
    });
  });
}

void norm_forward_rows(const NormForward& p, int64_t begin, int64_t end) {
  const int64_t d = p.x.cols;
  const DropoutFactors dropout(p.dropout);
  float* s = scratch_floats(ScratchUse::row, d + DropoutFactors::scratch_size(d));
  for (int64_t r = begin; r < end; ++r) {
    load_sum(p, dropout, r, s, s + d);
    if (p.sum.data != nullptr) store_row(s, p.sum, r);
    float mean = 0.0f;
    if (p.kind == NormKind::layer_norm) {
      mean = sum_lanes(d, [&](int64_t c, auto part) HWY_ATTR { return load(s + c, part); }) / static_cast<float>(d);
    }
    const FloatVec means = hn::Set(Floats(), mean);
    const float squares = sum_lanes(d, [&](int64_t c, auto part) HWY_ATTR {
      const FloatVec centred = hn::Sub(load(s + c, part), means);
      return hn::Mul(centred, centred);
    });
    const float rstd = 1.0f / std::sqrt(squares / static_cast<float>(d) + p.epsilon);
    normalise(p, r, mean, rstd, s);
    if (p.mean != nullptr) p.mean[r] = mean;
    if (p.rstd != nullptr) p.rstd[r] = rstd;
  }
}

// Rows of f32 in first-level cache, and the partial sums of the parameters' gradients (null: not wanted).
struct BackwardRow {
  float* normal = nullptr;  // (s − mean) · rstd
  float* g = nullptr;       // dy · gamma, then ds
  float* factors = nullptr;
  float* dgamma = nullptr;
  float* dbeta = nullptr;
};

// Fills normal and g, adds to dgamma and dbeta, and gives Σ g and Σ g · normal.
void project(const NormBackward& p, int64_t r, float mean, const BackwardRow& row, float& g_sum, float& projection) {
  const int64_t d = p.s.cols;
  const FloatVec means = hn::Set(Floats(), mean);
  const FloatVec rstds = hn::Set(Floats(), p.rstd[r]);
  with_elements(p.s.dtype, p.dy.dtype, [&](auto s_element, auto dy_element) HWY_ATTR {
    const auto* s = at<decltype(s_element)>(p.s, r);
    const auto* dy = at<decltype(dy_element)>(p.dy, r);
    FloatVec sums = hn::Zero(Floats());
    projection = sum_lanes(d, [&](int64_t c, auto part) HWY_ATTR {
      const FloatVec normal = hn::Mul(hn::Sub(load(s + c, part), means), rstds);
      const FloatVec gradient = load(dy + c, part);
      const FloatVec g = hn::Mul(gradient, load(p.gamma + c, part));
      store(normal, row.normal + c, part);
      store(g, row.g + c, part);
      sums = hn::Add(sums, g);  // beyond a part, g is 0
      if (row.dgamma != nullptr) {
        store(hn::MulAdd(gradient, normal, load(row.dgamma + c, part)), row.dgamma + c, part);
      }
      if (row.dbeta != nullptr) store(hn::Add(gradient, load(row.dbeta + c, part)), row.dbeta + c, part);
      return hn::Mul(g, normal);
    });
    g_sum = sum_of(sums);
  });
}

// ds = rstd · (g − g_mean − normal · projection) + dsum, in place of g.
void input_gradient(const NormBackward& p, int64_t r, float g_mean, float projection, const BackwardRow& row) {
  const FloatVec rstds = hn::Set(Floats(), p.rstd[r]);
  const FloatVec g_means = hn::Set(Floats(), g_mean);
  const FloatVec projections = hn::Set(Floats(), projection);
  const auto ds = [&](int64_t c, auto part) HWY_ATTR {
    const FloatVec centred = hn::Sub(load(row.g + c, part), g_means);
    return hn::Mul(rstds, hn::NegMulAdd(load(row.normal + c, part), projections, centred));
  };
  if (p.dsum.data == nullptr) {
    for_lanes(p.s.cols, [&](int64_t c, auto part) HWY_ATTR { store(ds(c, part), row.g + c, part); });
    return;
  }
  with_element(p.dsum.dtype, [&](auto element) HWY_ATTR {
    const auto* dsum = at<decltype(element)>(p.dsum, r);
    for_lanes(p.s.cols, [&](int64_t c, auto part)
                            HWY_ATTR { store(hn::Add(ds(c, part), load(dsum + c, part)), row.g + c, part); });
  });
}

void add_row(const float* from, const MutableMatrix& to, int64_t row) {
  with_element(to.dtype, [&](auto element) HWY_ATTR {
    auto* out = at<decltype(element)>(to, row);
    for_lanes(to.cols, [&](int64_t c, auto part)
                           HWY_ATTR { store(hn::Add(load(out + c, part), load(from + c, part)), out + c, part); });
  });
}

void store_dropped_row(const float* from, const float* factor, const MutableMatrix& to, int64_t row) {
  with_element(to.dtype, [&](auto element) HWY_ATTR {
    auto* out = at<decltype(element)>(to, row);
    for_lanes(to.cols, [&](int64_t c, auto part)
                           HWY_ATTR { store(hn::Mul(load(factor + c, part), load(from + c, part)), out + c, part); });
  });
}

void norm_backward_rows(const NormBackward& p, int64_t begin, int64_t end, float* dgamma, float* dbeta) {
  const int64_t d = p.s.cols;
  const DropoutFactors dropout(p.dropout);
  float* memory = scratch_floats(ScratchUse::row, 2 * d + DropoutFactors::scratch_size(d));
  const BackwardRow row{memory, memory + d, memory + 2 * d, dgamma, dbeta};
  for (int64_t r = begin; r < end; ++r) {
    const bool centred = p.kind == NormKind::layer_norm;
    float g_sum = 0.0f, projection = 0.0f;
    project(p, r, centred ? p.mean[r] : 0.0f, row, g_sum, projection);
    const float width = static_cast<float>(d);
    if (p.dx.data == nullptr && p.dresidual.data == nullptr) continue;
    input_gradient(p, r, centred ? g_sum / width : 0.0f, projection / width, row);
    if (p.dx.data != nullptr) p.accumulate_dx ? add_row(row.g, p.dx, r) : store_row(row.g, p.dx, r);
    if (p.dresidual.data == nullptr) continue;
    if (dropout.active()) {
      const float* factor = dropout.factors(static_cast<uint64_t>(r * d), d, row.factors);
      store_dropped_row(row.g, factor, p.dresidual, r);
    } else {
      store_row(row.g, p.dresidual, r);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(norm_forward_rows);
HWY_EXPORT(norm_backward_rows);

namespace {

// Elements for which a thread is worth starting: some ten microseconds of work.
constexpr int64_t grain_elements = 16384;

}  // namespace

void norm_forward(const NormForward& problem) {
  const NormForward& p = problem;
  check_matrix("norm_forward", "x", p.x);
  check_matrix("norm_forward", "y", p.y, p.x);
  check_optional_matrix("norm_forward", "residual", p.residual, p.x);
  check_optional_matrix("norm_forward", "sum", p.sum, p.x);
  require(p.gamma != nullptr || p.x.cols == 0, "norm_forward: gamma must have {} elements, got none", p.x.cols);
  require(p.beta == nullptr || p.kind == NormKind::layer_norm, "norm_forward: rms_norm has no beta");
  require(p.sum.data != nullptr || p.residual.data == nullptr || p.x.rows * p.x.cols == 0,
          "norm_forward: with a residual, sum must be kept for the backward pass, got no data");
  keep_threshold(p.dropout.probability);  // refuses what is no probability, before any thread starts
  if (p.x.cols == 0) return;
  parallel_for(p.x.rows, row_grain(grain_elements, p.x.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(norm_forward_rows)(p, begin, end);
  });
}

void norm_backward(const NormBackward& problem) {
  const NormBackward& p = problem;
  check_matrix("norm_backward", "s", p.s);
  check_matrix("norm_backward", "dy", p.dy, p.s);
  check_optional_matrix("norm_backward", "dsum", p.dsum, p.s);
  check_optional_matrix("norm_backward", "dx", p.dx, p.s);
  check_optional_matrix("norm_backward", "dresidual", p.dresidual, p.s);
  const bool empty = p.s.rows == 0 || p.s.cols == 0;
  require(p.gamma != nullptr || empty, "norm_backward: gamma must have {} elements, got none", p.s.cols);
  require(p.rstd != nullptr || empty, "norm_backward: rstd must have {} elements, got none", p.s.rows);
  require(p.mean != nullptr || p.kind == NormKind::rms_norm || empty,
          "norm_backward: mean must have {} elements for layer_norm, got none", p.s.rows);
  keep_threshold(p.dropout.probability);
  const int64_t d = p.s.cols;
  if (d == 0) return;
  const RowBlocks blocks(p.s.rows);
  float* partial = scratch_floats(ScratchUse::partial_sums, blocks.count() * 2 * d);
  parallel_for(blocks.count(), blocks.grain(grain_elements, d), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      float* sums = partial + b * 2 * d;
      std::fill(sums, sums + 2 * d, 0.0f);
      HWY_DYNAMIC_DISPATCH(norm_backward_rows)
      (p, blocks.begin(b), blocks.end(b), p.dgamma != nullptr ? sums : nullptr,
       p.dbeta != nullptr ? sums + d : nullptr);
    }
  });
  if (p.dgamma != nullptr) combine_partial_sums(blocks, d, partial, 2 * d, p.accumulate_parameters, p.dgamma);
  if (p.dbeta != nullptr) combine_partial_sums(blocks, d, partial + d, 2 * d, p.accumulate_parameters, p.dbeta);
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
