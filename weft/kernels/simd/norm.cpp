#include "weft/kernels/norm.h"

#include <array>
#include <cmath>
#include <utility>

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

// A group of rows passes through first-level cache as f32: the steps below are separate loops over it, memory is read
// and written once.

// to = from in the element type of `to`.
void store_row(const float* from, const MutableMatrix& to, int64_t row) {
  with_element(to.dtype, [&](auto element) HWY_ATTR {
    auto* out = at<decltype(element)>(to, row);
    for_lanes(to.cols, [=](int64_t c, auto part) HWY_ATTR { store(load(from + c, part), out + c, part); });
  });
}

// s = x + dropout(residual)
void add_residual(const NormForward& p, const DropoutFactors& dropout, int64_t row, float* s, float* scratch) {
  const int64_t d = p.x.cols;
  const float* factor = dropout.active() ? dropout.factors(static_cast<uint64_t>(row * d), d, scratch) : nullptr;
  with_elements(p.x.dtype, p.residual.dtype, [&](auto x_element, auto residual_element) HWY_ATTR {
    const auto* x = at<decltype(x_element)>(p.x, row);
    const auto* residual = at<decltype(residual_element)>(p.residual, row);
    if (factor == nullptr) {
      for_lanes(d, [=](int64_t c, auto part)
                       HWY_ATTR { store(hn::Add(load(x + c, part), load(residual + c, part)), s + c, part); });
      return;
    }
    for_lanes(d, [=](int64_t c, auto part) HWY_ATTR {
      store(hn::MulAdd(load(factor + c, part), load(residual + c, part), load(x + c, part)), s + c, part);
    });
  });
}

// The row s as f32, wherever it already is or must be written in that form; otherwise in `row`.
const float* input_row(const NormForward& p, const DropoutFactors& dropout, int64_t r, float* row, float* scratch) {
  const bool has_residual = p.residual.data != nullptr, wants_sum = p.sum.data != nullptr;
  const float* s = row;
  if (has_residual) {
    float* to = p.sum.dtype == DType::f32 ? at<float>(p.sum, r) : row;
    add_residual(p, dropout, r, to, scratch);
    s = to;
  } else if (p.x.dtype == DType::f32) {
    s = at<float>(p.x, r);
  } else {
    const BFloat16* x = at<BFloat16>(p.x, r);
    for_lanes(p.x.cols, [=](int64_t c, auto part) HWY_ATTR { store(load(x + c, part), row + c, part); });
  }
  if (wants_sum && !(has_residual && p.sum.dtype == DType::f32)) store_row(s, p.sum, r);
  return s;
}

// y = (s − mean) · rstd · gamma + beta
void normalise(const NormForward& p, int64_t row, float mean, float rstd, const float* s) {
  const FloatVec means = hn::Set(Floats(), mean);
  const FloatVec rstds = hn::Set(Floats(), rstd);
  const float* gamma = p.gamma;
  const float* beta = p.beta;
  const auto scaled = [=](int64_t c, auto part) HWY_ATTR {
    return hn::Mul(hn::Mul(hn::Sub(load(s + c, part), means), rstds), load(gamma + c, part));
  };
  with_element(p.y.dtype, [&](auto element) HWY_ATTR {
    auto* y = at<decltype(element)>(p.y, row);
    if (beta == nullptr) {
      for_lanes(p.x.cols, [=](int64_t c, auto part) HWY_ATTR { store(scaled(c, part), y + c, part); });
      return;
    }
    for_lanes(p.x.cols, [=](int64_t c, auto part)
                            HWY_ATTR { store(hn::Add(scaled(c, part), load(beta + c, part)), y + c, part); });
  });
}

float mean_of(const float* s, int64_t d) {
  return sum_lanes(d, [&](int64_t c, auto part) HWY_ATTR { return load(s + c, part); }) / static_cast<float>(d);
}

float rstd_of(const float* s, int64_t d, float mean, float epsilon) {
  const FloatVec means = hn::Set(Floats(), mean);
  const float squares = sum_lanes(d, [&](int64_t c, auto part) HWY_ATTR {
    const FloatVec centred = hn::Sub(load(s + c, part), means);
    return hn::Mul(centred, centred);
  });
  return 1.0f / std::sqrt(squares / static_cast<float>(d) + epsilon);
}

void norm_forward_group(const NormForward& p, const DropoutFactors& dropout, int64_t begin, int64_t rows,
                        float* memory) {
  const int64_t d = p.x.cols;
  float* scratch = memory + rows * d;
  const float* s[max_group_rows];
  float mean[max_group_rows] = {}, rstd[max_group_rows];
  for (int64_t i = 0; i < rows; ++i) s[i] = input_row(p, dropout, begin + i, memory + i * d, scratch);
  for (int64_t i = 0; i < rows && p.kind == NormKind::layer_norm; ++i) mean[i] = mean_of(s[i], d);
  for (int64_t i = 0; i < rows; ++i) rstd[i] = rstd_of(s[i], d, mean[i], p.epsilon);
  for (int64_t i = 0; i < rows; ++i) {
    normalise(p, begin + i, mean[i], rstd[i], s[i]);
    if (p.mean != nullptr) p.mean[begin + i] = mean[i];
    if (p.rstd != nullptr) p.rstd[begin + i] = rstd[i];
  }
}

void norm_forward_rows(const NormForward& p, int64_t begin, int64_t end) {
  const int64_t d = p.x.cols, group = group_rows(d);
  const DropoutFactors dropout(p.dropout);
  float* s = scratch_floats(ScratchUse::row, group * d + DropoutFactors::scratch_size(d));
  for (int64_t r = begin; r < end; r += group) norm_forward_group(p, dropout, r, std::min(group, end - r), s);
}

// Rows that share the loads and stores of the parameters' partial sums.
constexpr int64_t backward_group = 4;

// What backward knows of one row before it computes ds.
struct RowMoments {
  float mean = 0.0f;
  float rstd = 0.0f;
  float g_mean = 0.0f;      // of g = dy · gamma; 0 for rms_norm, which does not centre
  float projection = 0.0f;  // mean of g · (s − mean) · rstd
};

template <typename S, typename DY>
HWY_FLATTEN RowMoments moments_of(const NormBackward& p, int64_t r) {
  const S* s = at<S>(p.s, r);
  const DY* dy = at<DY>(p.dy, r);
  const float* gamma = p.gamma;
  const bool centred = p.kind == NormKind::layer_norm;
  RowMoments row{.mean = centred ? p.mean[r] : 0.0f, .rstd = p.rstd[r]};
  const FloatVec means = hn::Set(Floats(), row.mean);
  FloatVec g_sums = hn::Zero(Floats());
  const float products = sum_lanes(p.s.cols, [=, &g_sums](int64_t c, auto part) HWY_ATTR {
    const FloatVec g = hn::Mul(load(dy + c, part), load(gamma + c, part));
    g_sums = hn::Add(g_sums, g);  // beyond a part, g is 0
    return hn::Mul(g, hn::Sub(load(s + c, part), means));
  });
  const float share = 1.0f / static_cast<float>(p.s.cols);
  row.projection = products * row.rstd * share;
  if (centred) row.g_mean = sum_of(g_sums) * share;
  return row;
}

// dgamma += Σ dy · (s − mean) · rstd and dbeta += Σ dy over the rows begin + i, whose sums stay in registers.
template <typename S, typename DY, size_t... i>
HWY_FLATTEN void add_parameter_gradients(const NormBackward& p, int64_t begin, const RowMoments* moments, float* dgamma,
                                         float* dbeta, std::index_sequence<i...>) {
  const std::array<const S*, sizeof...(i)> s = {at<S>(p.s, begin + static_cast<int64_t>(i))...};
  const std::array<const DY*, sizeof...(i)> dy = {at<DY>(p.dy, begin + static_cast<int64_t>(i))...};
  const std::array<float, sizeof...(i)> mean = {moments[i].mean...}, rstd = {moments[i].rstd...};
  for_lanes(p.s.cols, [=](int64_t c, auto part) HWY_ATTR {
    FloatVec gamma_sum = load(dgamma + c, part), beta_sum = load(dbeta + c, part);
    const auto add = [&](const S* s_row, const DY* dy_row, float row_mean, float row_rstd) HWY_ATTR {
      const FloatVec gradient = load(dy_row + c, part);
      const FloatVec centred = hn::Sub(load(s_row + c, part), hn::Set(Floats(), row_mean));
      beta_sum = hn::Add(beta_sum, gradient);
      gamma_sum = hn::MulAdd(gradient, hn::Mul(centred, hn::Set(Floats(), row_rstd)), gamma_sum);
    };
    (add(s[i], dy[i], mean[i], rstd[i]), ...);
    store(gamma_sum, dgamma + c, part);
    store(beta_sum, dbeta + c, part);
  });
}

// ds = rstd · (dy · gamma − g_mean − (s − mean) · rstd · projection) + dsum
template <typename S, typename DY>
HWY_FLATTEN void input_gradient(const NormBackward& p, int64_t r, const RowMoments& row, float* to) {
  const S* s = at<S>(p.s, r);
  const DY* dy = at<DY>(p.dy, r);
  const float* gamma = p.gamma;
  const FloatVec mean = hn::Set(Floats(), row.mean);
  const FloatVec rstd = hn::Set(Floats(), row.rstd);
  const FloatVec g_mean = hn::Set(Floats(), row.g_mean);
  const FloatVec slope = hn::Set(Floats(), row.rstd * row.projection);
  const auto ds = [=](int64_t c, auto part) HWY_ATTR {
    const FloatVec g = hn::MulSub(load(dy + c, part), load(gamma + c, part), g_mean);
    return hn::Mul(rstd, hn::NegMulAdd(hn::Sub(load(s + c, part), mean), slope, g));
  };
  if (p.dsum.data == nullptr) {
    for_lanes(p.s.cols, [=](int64_t c, auto part) HWY_ATTR { store(ds(c, part), to + c, part); });
    return;
  }
  with_element(p.dsum.dtype, [&](auto element) HWY_ATTR {
    const auto* dsum = at<decltype(element)>(p.dsum, r);
    for_lanes(p.s.cols,
              [=](int64_t c, auto part) HWY_ATTR { store(hn::Add(ds(c, part), load(dsum + c, part)), to + c, part); });
  });
}

void add_row(const float* from, const MutableMatrix& to, int64_t row) {
  with_element(to.dtype, [&](auto element) HWY_ATTR {
    auto* out = at<decltype(element)>(to, row);
    for_lanes(to.cols, [=](int64_t c, auto part)
                           HWY_ATTR { store(hn::Add(load(out + c, part), load(from + c, part)), out + c, part); });
  });
}

void store_dropped_row(const float* from, const float* factor, const MutableMatrix& to, int64_t row) {
  with_element(to.dtype, [&](auto element) HWY_ATTR {
    auto* out = at<decltype(element)>(to, row);
    for_lanes(to.cols, [=](int64_t c, auto part)
                           HWY_ATTR { store(hn::Mul(load(factor + c, part), load(from + c, part)), out + c, part); });
  });
}

// Where ds is computed: in dx if it takes ds as it is, else in `row`.
float* gradient_row(const NormBackward& p, int64_t r, float* row) {
  const bool direct = p.dx.data != nullptr && p.dx.dtype == DType::f32 && !p.accumulate_dx;
  return direct ? at<float>(p.dx, r) : row;
}

void write_outputs(const NormBackward& p, const DropoutFactors& dropout, int64_t r, const float* ds, float* scratch) {
  if (p.accumulate_dx && p.dx.data != nullptr) {
    add_row(ds, p.dx, r);
  } else if (p.dx.data != nullptr && p.dx.dtype != DType::f32) {
    store_row(ds, p.dx, r);
  }
  if (p.dresidual.data == nullptr) return;
  if (dropout.active()) {
    const float* factor = dropout.factors(static_cast<uint64_t>(r * p.s.cols), p.s.cols, scratch);
    store_dropped_row(ds, factor, p.dresidual, r);
  } else {
    store_row(ds, p.dresidual, r);
  }
}

// A group of rows of s and dy stays in first-level cache for all three steps.
template <typename S, typename DY>
void norm_backward_group(const NormBackward& p, const DropoutFactors& dropout, int64_t begin, int64_t rows,
                         float* dgamma, float* dbeta, float* scratch) {
  RowMoments moments[backward_group];
  for (int64_t i = 0; i < rows; ++i) moments[i] = moments_of<S, DY>(p, begin + i);
  if (dgamma != nullptr && rows == backward_group) {
    add_parameter_gradients<S, DY>(p, begin, moments, dgamma, dbeta, std::make_index_sequence<backward_group>());
  } else if (dgamma != nullptr) {
    for (int64_t i = 0; i < rows; ++i) {
      add_parameter_gradients<S, DY>(p, begin + i, moments + i, dgamma, dbeta, std::make_index_sequence<1>());
    }
  }
  if (p.dx.data == nullptr && p.dresidual.data == nullptr) return;
  for (int64_t i = 0; i < rows; ++i) {
    float* ds = gradient_row(p, begin + i, scratch);
    input_gradient<S, DY>(p, begin + i, moments[i], ds);
    write_outputs(p, dropout, begin + i, ds, scratch + p.s.cols);
  }
}

// dgamma and dbeta are the partial sums of these rows; both null if neither is wanted.
void norm_backward_rows(const NormBackward& p, int64_t begin, int64_t end, float* dgamma, float* dbeta) {
  const int64_t d = p.s.cols;
  const DropoutFactors dropout(p.dropout);
  float* scratch = scratch_floats(ScratchUse::row, d + DropoutFactors::scratch_size(d));
  with_elements(p.s.dtype, p.dy.dtype, [&](auto s, auto dy) HWY_ATTR {
    for (int64_t r = begin; r < end; r += backward_group) {
      const int64_t rows = std::min(backward_group, end - r);
      norm_backward_group<decltype(s), decltype(dy)>(p, dropout, r, rows, dgamma, dbeta, scratch);
    }
  });
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
  const bool wanted = p.dgamma != nullptr || p.dbeta != nullptr;
  const RowBlocks blocks(p.s.rows);
  float* partial = scratch_floats(ScratchUse::partial_sums, blocks.count() * 2 * d);
  parallel_for(blocks.count(), blocks.grain(grain_elements, d), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      float* sums = partial + b * 2 * d;
      std::fill(sums, sums + 2 * d, 0.0f);
      HWY_DYNAMIC_DISPATCH(norm_backward_rows)
      (p, blocks.begin(b), blocks.end(b), wanted ? sums : nullptr, wanted ? sums + d : nullptr);
    }
  });
  if (p.dgamma != nullptr) combine_partial_sums(blocks, d, partial, 2 * d, p.accumulate_parameters, p.dgamma);
  if (p.dbeta != nullptr) combine_partial_sums(blocks, d, partial + d, 2 * d, p.accumulate_parameters, p.dbeta);
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
