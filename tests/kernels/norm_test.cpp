#include "weft/kernels/norm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/kernels/comparison.h"
#include "tests/kernels/test_matrix.h"
#include "weft/kernels/portable/norm.h"

namespace weft::kernels {
namespace {

struct Case {
  NormKind kind;
  int64_t rows, cols, gap;
  DType x, residual, sum, y;  // backward: s, dsum, dx, dresidual; dy has the type of y
  bool with_residual;
  float dropout;
  bool with_beta;
  bool accumulate;
};

constexpr DType f32 = DType::f32, bf16 = DType::bf16;

std::vector<Case> cases() {
  std::vector<Case> all;
  const struct {
    int64_t rows, cols, gap;
  } sizes[] = {{0, 4, 0}, {3, 0, 0}, {1, 1, 0}, {5, 33, 3}, {70, 64, 0}, {3, 1029, 7}, {140, 21, 1}};
  const DType types[][4] = {
      {f32, f32, f32, f32}, {f32, bf16, f32, bf16}, {bf16, bf16, bf16, bf16}, {bf16, f32, f32, f32}};
  for (NormKind kind : {NormKind::layer_norm, NormKind::rms_norm}) {
    for (const auto& size : sizes) {
      for (const auto& t : types) {
        for (float dropout : {0.0f, 0.4f}) {
          const bool layer = kind == NormKind::layer_norm;
          all.push_back(
              {kind, size.rows, size.cols, size.gap, t[0], t[1], t[2], t[3], true, dropout, layer, dropout > 0});
        }
        all.push_back({kind, size.rows, size.cols, size.gap, t[0], t[1], t[2], t[3], false, 0.0f, false, false});
      }
    }
  }
  return all;
}

std::string describe(const Case& c) {
  return fmt::format("{} ({}, {}) gap {} x {} residual {} {} sum {} y {} dropout {} beta {}",
                     c.kind == NormKind::layer_norm ? "layer_norm" : "rms_norm", c.rows, c.cols, c.gap, name_of(c.x),
                     c.with_residual, name_of(c.residual), name_of(c.sum), name_of(c.y), c.dropout, c.with_beta);
}

// Sums of up to a thousand f32 terms, relative to the element or to 1; expect_near adds the rounding of bf16.
constexpr double tolerance = 3e-6;

std::vector<float> around_one(int64_t count, uint64_t seed) {
  std::vector<float> values = random_floats(count, seed, 0.3f);
  for (float& value : values) value += 1.0f;
  return values;
}

TEST(NormForward, AgreesWithTheOracle) {
  for_each_target([] {
    for (const Case& c : cases()) {
      SCOPED_TRACE(describe(c));
      const size_t rows = static_cast<size_t>(c.rows), count = static_cast<size_t>(c.rows * c.cols);
      const TestMatrix x = TestMatrix::random(c.x, c.rows, c.cols, c.gap, 1);
      const TestMatrix residual = TestMatrix::random(c.residual, c.rows, c.cols, 0, 2, 1.0f);
      TestMatrix sum(c.sum, c.rows, c.cols, c.gap), y(c.y, c.rows, c.cols, 2 * c.gap);
      const std::vector<float> gamma = around_one(c.cols, 3), beta = random_floats(c.cols, 4);
      std::vector<float> mean(rows), rstd(rows);
      NormForward p{.kind = c.kind, .x = x.view(), .gamma = gamma.data(), .y = y.view(), .rstd = rstd.data()};
      if (c.with_residual) p.residual = residual.view(), p.sum = sum.view();
      if (c.with_beta) p.beta = beta.data();
      if (c.kind == NormKind::layer_norm) p.mean = mean.data();
      p.dropout = {c.dropout, Rng{5, 6}};
      norm_forward(p);

      const std::vector<double> x_wide = x.dense(), residual_wide = residual.dense();
      const std::vector<double> gamma_wide = widen(gamma), beta_wide = widen(beta);
      std::vector<double> sum_wide(count), y_wide(count), mean_wide(rows), rstd_wide(rows);
      portable::NormForward<double> q;
      q.kind = c.kind, q.rows = c.rows, q.cols = c.cols, q.x = x_wide.data();
      if (c.with_residual) q.residual = residual_wide.data();
      if (c.with_beta) q.beta = beta_wide.data();
      q.dropout = p.dropout;
      q.gamma = gamma_wide.data();
      q.sum = sum_wide.data(), q.y = y_wide.data(), q.mean = mean_wide.data(), q.rstd = rstd_wide.data();
      portable::norm_forward(q);

      y.expect_near(y_wide, tolerance);
      if (c.cols == 0) continue;  // no statistics of nothing
      if (c.with_residual) {
        sum.expect_near(sum_wide, tolerance);
      }
      EXPECT_LE(relative_error(widen(mean), mean_wide), tolerance);
      EXPECT_LE(relative_error(widen(rstd), rstd_wide), tolerance);
    }
  });
}

// Everything norm_backward reads and writes for one case.
struct BackwardRun {
  explicit BackwardRun(const Case& c)
      : c(c),
        s(TestMatrix::random(c.x, c.rows, c.cols, c.gap, 1)),
        dy(TestMatrix::random(c.y, c.rows, c.cols, 0, 6, 1.0f)),
        dsum(TestMatrix::random(c.residual, c.rows, c.cols, c.gap, 7, 1.0f)),
        dx(TestMatrix::random(c.sum, c.rows, c.cols, c.gap, 8, 1.0f)),
        dresidual(c.y, c.rows, c.cols, 2 * c.gap),
        gamma(around_one(c.cols, 3)),
        dgamma(random_floats(c.cols, 4)),
        dbeta(random_floats(c.cols, 5)) {
    // Statistics of the norm of s, from the oracle. In a row of one element rstd is 1/√ε and multiplies every rounding.
    const std::vector<double> s_wide = s.dense(), ones(static_cast<size_t>(c.cols), 1.0);
    std::vector<double> sum(s_wide.size()), y(s_wide.size());
    mean_wide.resize(static_cast<size_t>(c.rows));
    rstd_wide.resize(static_cast<size_t>(c.rows));
    portable::norm_forward<double>({.kind = c.kind,
                                    .epsilon = 0.1,
                                    .rows = c.rows,
                                    .cols = c.cols,
                                    .x = s_wide.data(),
                                    .gamma = ones.data(),
                                    .sum = sum.data(),
                                    .y = y.data(),
                                    .mean = mean_wide.data(),
                                    .rstd = rstd_wide.data()});
    mean.assign(mean_wide.begin(), mean_wide.end());
    rstd.assign(rstd_wide.begin(), rstd_wide.end());
  }

  NormBackward problem() {
    NormBackward p{.kind = c.kind, .s = s.view(), .dy = dy.view(), .rstd = rstd.data(), .gamma = gamma.data()};
    if (c.kind == NormKind::layer_norm) p.mean = mean.data(), p.dbeta = dbeta.data();
    if (c.with_residual) p.dsum = dsum.view(), p.dresidual = dresidual.view();
    p.dropout = {c.dropout, Rng{5, 6}};
    p.dx = dx.view();
    p.accumulate_dx = c.accumulate;
    p.dgamma = dgamma.data();
    p.accumulate_parameters = c.accumulate;
    return p;
  }

  Case c;
  TestMatrix s, dy, dsum, dx, dresidual;
  std::vector<float> gamma, dgamma, dbeta, mean, rstd;
  std::vector<double> mean_wide, rstd_wide;
};

TEST(NormBackward, AgreesWithTheOracle) {
  for_each_target([] {
    for (const Case& c : cases()) {
      SCOPED_TRACE(describe(c));
      BackwardRun run(c);
      const std::vector<double> s = run.s.dense(), dy = run.dy.dense(), dsum = run.dsum.dense();
      const std::vector<double> gamma = widen(run.gamma);
      const size_t cols = static_cast<size_t>(c.cols);
      std::vector<double> dx = c.accumulate ? run.dx.dense() : std::vector<double>(s.size());
      std::vector<double> dgamma = c.accumulate ? widen(run.dgamma) : std::vector<double>(cols);
      std::vector<double> dbeta = c.accumulate ? widen(run.dbeta) : std::vector<double>(cols);
      std::vector<double> dresidual(s.size());
      portable::NormBackward<double> q{.kind = c.kind, .rows = c.rows, .cols = c.cols, .s = s.data(), .dy = dy.data()};
      if (c.with_residual) q.dsum = dsum.data(), q.dresidual = dresidual.data();
      q.mean = run.mean_wide.data(), q.rstd = run.rstd_wide.data(), q.gamma = gamma.data();
      q.dropout = {c.dropout, Rng{5, 6}};
      q.dx = dx.data(), q.dgamma = dgamma.data(), q.dbeta = dbeta.data();
      portable::norm_backward(q);

      norm_backward(run.problem());
      run.dx.expect_near(dx, tolerance);
      if (c.with_residual) {
        run.dresidual.expect_near(dresidual, tolerance);
      }
      if (c.cols == 0) continue;
      EXPECT_LE(relative_error(widen(run.dgamma), dgamma), tolerance);
      if (c.kind == NormKind::layer_norm) {
        EXPECT_LE(relative_error(widen(run.dbeta), dbeta), tolerance);
      }
    }
  });
}

TEST(NormBackward, OutputsAreOptional) {
  const Case c{NormKind::layer_norm, 40, 50, 0, f32, f32, f32, f32, true, 0.2f, true, false};
  BackwardRun all(c);
  norm_backward(all.problem());
  BackwardRun parameters_only(c);
  NormBackward p = parameters_only.problem();
  p.dx = {}, p.dresidual = {};
  norm_backward(p);
  EXPECT_EQ(parameters_only.dgamma, all.dgamma);
  EXPECT_EQ(parameters_only.dbeta, all.dbeta);
  BackwardRun input_only(c);
  p = input_only.problem();
  p.dgamma = nullptr, p.dbeta = nullptr, p.dx = {};
  norm_backward(p);
  EXPECT_EQ(input_only.dresidual.bytes(), all.dresidual.bytes());
}

TEST(NormBackward, SameBitsForAnyThreadCount) {
  const Case c{NormKind::layer_norm, 3001, 67, 0, f32, f32, f32, f32, true, 0.2f, true, false};
  BackwardRun one(c), two(c);
  with_threads(1, [&] { norm_backward(one.problem()); });
  with_threads(2, [&] { norm_backward(two.problem()); });
  EXPECT_EQ(one.dgamma, two.dgamma);
  EXPECT_EQ(one.dbeta, two.dbeta);
  EXPECT_EQ(one.dx.bytes(), two.dx.bytes());
  EXPECT_EQ(one.dresidual.bytes(), two.dresidual.bytes());
}

// The oracle's backward pass against central differences of its forward pass, through both of its outputs.
TEST(NormOracle, BackwardIsTheGradient) {
  constexpr int64_t rows = 3, cols = 6;
  constexpr size_t count = rows * cols;
  for (NormKind kind : {NormKind::layer_norm, NormKind::rms_norm}) {
    std::vector<double> x = TestMatrix::random(f32, rows, cols, 0, 1, 1.0f).dense();
    std::vector<double> residual = TestMatrix::random(f32, rows, cols, 0, 2, 1.0f).dense();
    std::vector<double> gamma = widen(around_one(cols, 3)), beta = widen(random_floats(cols, 4));
    const std::vector<double> dy = TestMatrix::random(f32, rows, cols, 0, 5, 1.0f).dense();
    const std::vector<double> dsum = TestMatrix::random(f32, rows, cols, 0, 6, 1.0f).dense();
    std::vector<double> sum(count), y(count), mean(rows), rstd(rows);
    portable::NormForward<double> p{
        .kind = kind, .rows = rows, .cols = cols, .x = x.data(), .residual = residual.data()};
    p.dropout = {0.3f, Rng{1, 1}};
    p.gamma = gamma.data(), p.beta = beta.data(), p.sum = sum.data(), p.y = y.data();
    p.mean = mean.data(), p.rstd = rstd.data();
    const auto loss = [&] {
      portable::norm_forward(p);
      double total = 0.0;
      for (size_t i = 0; i < count; ++i) total += y[i] * dy[i] + sum[i] * dsum[i];
      return total;
    };
    std::vector<double> dx(count), dresidual(count), dgamma(cols), dbeta(cols);
    loss();
    portable::NormBackward<double> q{.kind = kind, .rows = rows, .cols = cols, .s = sum.data(), .dy = dy.data()};
    q.dsum = dsum.data(), q.mean = mean.data(), q.rstd = rstd.data(), q.gamma = gamma.data(), q.dropout = p.dropout;
    q.dx = dx.data(), q.dresidual = dresidual.data(), q.dgamma = dgamma.data(), q.dbeta = dbeta.data();
    portable::norm_backward(q);
    // Central differences in double with step 1e-5: about 1e-9 of truncation, relative to the largest gradient.
    EXPECT_LE(relative_error(dx, numeric_gradient(x, loss)), 1e-7);
    EXPECT_LE(relative_error(dresidual, numeric_gradient(residual, loss)), 1e-7);
    EXPECT_LE(relative_error(dgamma, numeric_gradient(gamma, loss)), 1e-7);
    EXPECT_LE(relative_error(dbeta, numeric_gradient(beta, loss)), 1e-7);
  }
}

TEST(NormForward, NaNStaysInItsRow) {
  TestMatrix x = TestMatrix::random(f32, 3, 40, 0, 1), y(f32, 3, 40);
  x.set(1, 39, std::nanf(""));
  const std::vector<float> gamma(40, 1.0f);
  norm_forward({.x = x.view(), .gamma = gamma.data(), .y = y.view()});
  for (int64_t c = 0; c < 40; ++c) {
    EXPECT_TRUE(std::isfinite(y.get(0, c)) && std::isnan(y.get(1, c)) && std::isfinite(y.get(2, c)));
  }
}

TEST(NormForward, LargeMeanDoesNotCancel) {
  TestMatrix x(f32, 1, 256), y(f32, 1, 256);
  for (int64_t c = 0; c < 256; ++c) x.set(0, c, 4096.0f + static_cast<float>(c % 2));  // variance 1/4
  const std::vector<float> gamma(256, 1.0f);
  norm_forward({.epsilon = 0.0f, .x = x.view(), .gamma = gamma.data(), .y = y.view()});
  for (int64_t c = 0; c < 256; ++c) EXPECT_FLOAT_EQ(y.get(0, c), c % 2 ? 1.0f : -1.0f);
}

template <typename Problem, typename Change>
std::string error_of(void (*norm)(const Problem&), Problem problem, const Change& change) {
  change(problem);
  return message_of([&] { norm(problem); });
}

TEST(NormErrors, ForwardSaysWhatDoesNotFit) {
  TestMatrix x(f32, 3, 4), y(f32, 3, 4), other(f32, 3, 5);
  const std::vector<float> gamma(4, 1.0f);
  const NormForward good{.x = x.view(), .gamma = gamma.data(), .y = y.view()};
  const auto error = [&](auto change) { return error_of<NormForward>(norm_forward, good, change); };
  EXPECT_EQ(error([](NormForward&) {}), "");
  EXPECT_EQ(error([&](NormForward& p) { p.y = other.view(); }), "norm_forward: y must be (3, 4), got (3, 5)");
  EXPECT_EQ(error([&](NormForward& p) { p.residual = other.view(); }),
            "norm_forward: residual must be (3, 4), got (3, 5)");
  EXPECT_EQ(error([&](NormForward& p) { p.residual = y.view(); }),
            "norm_forward: with a residual, sum must be kept for the backward pass, got no data");
  EXPECT_EQ(error([&](NormForward& p) { p.gamma = nullptr; }), "norm_forward: gamma must have 4 elements, got none");
  EXPECT_EQ(error([&](NormForward& p) { p.kind = NormKind::rms_norm, p.beta = gamma.data(); }),
            "norm_forward: rms_norm has no beta");
  EXPECT_EQ(error([&](NormForward& p) { p.dropout.probability = -0.5f; }),
            "dropout: probability -0.5 is not in [0, 1)");
}

TEST(NormErrors, BackwardSaysWhatDoesNotFit) {
  BackwardRun run({NormKind::layer_norm, 3, 4, 0, f32, f32, f32, f32, true, 0.0f, true, false});
  TestMatrix other(f32, 2, 4);
  const auto error = [&](auto change) { return error_of<NormBackward>(norm_backward, run.problem(), change); };
  EXPECT_EQ(error([](NormBackward&) {}), "");
  EXPECT_EQ(error([&](NormBackward& p) { p.dy = other.view(); }), "norm_backward: dy must be (3, 4), got (2, 4)");
  EXPECT_EQ(error([&](NormBackward& p) { p.dsum = other.view(); }), "norm_backward: dsum must be (3, 4), got (2, 4)");
  EXPECT_EQ(error([&](NormBackward& p) { p.dx = other.view(); }), "norm_backward: dx must be (3, 4), got (2, 4)");
  EXPECT_EQ(error([&](NormBackward& p) { p.rstd = nullptr; }), "norm_backward: rstd must have 3 elements, got none");
  EXPECT_EQ(error([&](NormBackward& p) { p.mean = nullptr; }),
            "norm_backward: mean must have 3 elements for layer_norm, got none");
  EXPECT_EQ(error([&](NormBackward& p) { p.gamma = nullptr; }), "norm_backward: gamma must have 4 elements, got none");
}

}  // namespace
}  // namespace weft::kernels
