#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/comparison.h"
#include "weft/base/rng.h"
#include "weft/kernels/portable/masked_linear_attention.h"

namespace weft::kernels {
namespace {

struct GradientCase {
  std::string name;
  std::vector<AttentionSegment> segments;
  int64_t heads = 2;
  int64_t kv_heads = 2;
  int64_t value_dim = 3;
  bool causal = false;
  bool masked = false;
};

std::ostream& operator<<(std::ostream& out, const GradientCase& c) { return out << c.name; }

constexpr int64_t head_dim = 3;
constexpr int64_t rows = 9;  // of every array

template <typename T>
portable::Heads<T> heads_of(T* data, int64_t heads, int64_t dim) {
  return {data, heads * dim, dim};
}

// Σ output·d_output as a function of q, k and v, and its gradients.
struct Scalar {
  explicit Scalar(const GradientCase& c) : config(c) {
    problem = {.segments = config.segments,
               .heads = c.heads,
               .kv_heads = c.kv_heads,
               .head_dim = head_dim,
               .value_dim = c.value_dim,
               .causal = c.causal};
    if (!c.masked) return;
    for (size_t i = 0; i < allowed.size(); ++i) allowed[i] = i / rows != 1 && Rng{5, 5}.bernoulli(0.7, i);
    problem.allowed = allowed.data();
    problem.allowed_query_stride = rows;
  }

  double value() {
    const portable::LinearAttentionForward<double, double> call{
        .problem = problem,
        .q = heads_of(std::as_const(q).data(), config.heads, head_dim),
        .k = heads_of(std::as_const(k).data(), config.kv_heads, head_dim),
        .v = heads_of(std::as_const(v).data(), config.kv_heads, config.value_dim),
        .output = heads_of(output.data(), config.heads, config.value_dim),
        .denominators = denominators.data(),
        .denominator_stride = rows};
    if (config.masked) {
      for_each_head([&](int64_t s, int64_t h) { portable::masked_linear_attention_forward(call, longest(), s, h); });
    } else {
      portable::linear_attention_forward(call);
    }
    double sum = 0.0;
    for (size_t i = 0; i < output.size(); ++i) sum += output[i] * d_output[i];
    return sum;
  }

  void differentiate() {
    value();
    const portable::LinearAttentionBackward<double> call{
        .problem = problem,
        .q = heads_of(std::as_const(q).data(), config.heads, head_dim),
        .k = heads_of(std::as_const(k).data(), config.kv_heads, head_dim),
        .v = heads_of(std::as_const(v).data(), config.kv_heads, config.value_dim),
        .output = heads_of(std::as_const(output).data(), config.heads, config.value_dim),
        .d_output = heads_of(std::as_const(d_output).data(), config.heads, config.value_dim),
        .denominators = denominators.data(),
        .denominator_stride = rows,
        .dq = heads_of(dq.data(), config.heads, head_dim),
        .dk = heads_of(dk.data(), config.kv_heads, head_dim),
        .dv = heads_of(dv.data(), config.kv_heads, config.value_dim)};
    if (config.masked) {
      for_each_head([&](int64_t s, int64_t h) { portable::MaskedLinearBackward(call, longest(), s, h).run(); });
    } else {
      portable::linear_attention_backward(call);
    }
  }

  portable::LongestLengths longest() const { return portable::longest_lengths(problem); }

  template <typename Body>
  void for_each_head(const Body& body) const {
    for (int64_t i = 0; i < static_cast<int64_t>(config.segments.size()) * config.kv_heads; ++i) {
      body(i / config.kv_heads, i % config.kv_heads);
    }
  }

  GradientCase config;
  AttentionProblem problem;
  std::vector<uint8_t> allowed = std::vector<uint8_t>(static_cast<size_t>(rows * rows));
  std::vector<double> q = widen(random_floats(rows * config.heads * head_dim, 1));
  std::vector<double> k = widen(random_floats(rows * config.kv_heads * head_dim, 2));
  std::vector<double> v = widen(random_floats(rows * config.kv_heads * config.value_dim, 3));
  std::vector<double> d_output = widen(random_floats(rows * config.heads * config.value_dim, 4));
  std::vector<double> output = d_output, denominators = q, dq = q, dk = k, dv = v;  // to be overwritten
};

class LinearAttentionGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(LinearAttentionGradient, IsTheDerivative) {
  Scalar scalar(GetParam());
  std::ranges::fill(scalar.output, 0.0);  // rows of no segment count nothing
  for (std::vector<double>* gradient : {&scalar.dq, &scalar.dk, &scalar.dv}) std::ranges::fill(*gradient, 0.0);
  scalar.differentiate();
  // Relative to the largest element: central differences in double err by step² and by rounding / step, both near
  // 1e-10.
  const auto value = [&] { return scalar.value(); };
  EXPECT_LT(relative_error(scalar.dq, numeric_gradient(scalar.q, value)), 1e-8);
  EXPECT_LT(relative_error(scalar.dk, numeric_gradient(scalar.k, value)), 1e-8);
  EXPECT_LT(relative_error(scalar.dv, numeric_gradient(scalar.v, value)), 1e-8);
}

INSTANTIATE_TEST_SUITE_P(
    Portable, LinearAttentionGradient,
    testing::Values(GradientCase{.name = "full", .segments = {{0, 9, 0, 9}}},
                    GradientCase{.name = "causal", .segments = {{0, 9, 0, 9}}, .causal = true},
                    GradientCase{.name = "causal_offset", .segments = {{0, 4, 0, 9}}, .causal = true},
                    GradientCase{.name = "more_queries", .segments = {{0, 9, 0, 5}}, .causal = true},
                    GradientCase{.name = "packed", .segments = {{0, 4, 0, 4}, {4, 5, 4, 5}}, .causal = true},
                    GradientCase{.name = "padded", .segments = {{0, 4, 0, 2}, {4, 5, 4, 0}}},
                    GradientCase{.name = "grouped", .segments = {{0, 9, 0, 9}}, .heads = 4},
                    GradientCase{.name = "multi_query", .segments = {{0, 9, 0, 9}}, .heads = 3, .kv_heads = 1},
                    GradientCase{.name = "masked", .segments = {{0, 9, 0, 9}}, .masked = true},
                    GradientCase{.name = "masked_grouped",
                                 .segments = {{0, 5, 0, 4}, {5, 4, 4, 5}},
                                 .heads = 4,
                                 .causal = true,
                                 .masked = true},
                    GradientCase{.name = "value_dim", .segments = {{0, 7, 0, 8}}, .value_dim = 2, .causal = true}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::kernels
