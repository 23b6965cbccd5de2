#include <gtest/gtest.h>

#include <string>
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

class LinearAttentionGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(LinearAttentionGradient, IsTheDerivative) {
  const GradientCase& c = GetParam();
  const int64_t e = c.value_dim;
  AttentionProblem problem{.segments = c.segments,
                           .heads = c.heads,
                           .kv_heads = c.kv_heads,
                           .head_dim = head_dim,
                           .value_dim = e,
                           .causal = c.causal};
  const portable::LongestLengths longest = portable::longest_lengths(problem);
  std::vector<uint8_t> allowed(static_cast<size_t>(rows * rows));
  for (size_t i = 0; i < allowed.size(); ++i) allowed[i] = i / rows != 1 && Rng{5, 5}.bernoulli(0.7, i);
  if (c.masked) {
    problem.allowed = allowed.data();
    problem.allowed_query_stride = rows;
  }
  const auto for_each_head = [&](const auto& body) {
    for (int64_t i = 0; i < static_cast<int64_t>(c.segments.size()) * c.kv_heads; ++i) {
      body(i / c.kv_heads, i % c.kv_heads);
    }
  };
  std::vector<double> q = widen(random_floats(rows * c.heads * head_dim, 1));
  std::vector<double> k = widen(random_floats(rows * c.kv_heads * head_dim, 2));
  std::vector<double> v = widen(random_floats(rows * c.kv_heads * e, 3));
  const std::vector<double> d_output = widen(random_floats(rows * c.heads * e, 4));
  std::vector<double> output(d_output.size()), denominators(static_cast<size_t>(rows * c.heads));
  const auto const_heads = [](const std::vector<double>& array, int64_t heads, int64_t dim) {
    return heads_of(array.data(), heads, dim);
  };
  const auto value = [&] {
    const portable::LinearAttentionForward<double, double> call{.problem = problem,
                                                                .q = const_heads(q, c.heads, head_dim),
                                                                .k = const_heads(k, c.kv_heads, head_dim),
                                                                .v = const_heads(v, c.kv_heads, e),
                                                                .output = heads_of(output.data(), c.heads, e),
                                                                .denominators = denominators.data(),
                                                                .denominator_stride = rows};
    if (c.masked) {
      for_each_head([&](int64_t s, int64_t h) { portable::masked_linear_attention_forward(call, longest, s, h); });
    } else {
      portable::linear_attention_forward(call);
    }
    double sum = 0.0;
    for (size_t i = 0; i < output.size(); ++i) sum += output[i] * d_output[i];
    return sum;
  };
  value();
  std::vector<double> dq(q.size()), dk(k.size()), dv(v.size());
  const portable::LinearAttentionBackward<double> call{.problem = problem,
                                                       .q = const_heads(q, c.heads, head_dim),
                                                       .k = const_heads(k, c.kv_heads, head_dim),
                                                       .v = const_heads(v, c.kv_heads, e),
                                                       .output = const_heads(output, c.heads, e),
                                                       .d_output = const_heads(d_output, c.heads, e),
                                                       .denominators = denominators.data(),
                                                       .denominator_stride = rows,
                                                       .dq = heads_of(dq.data(), c.heads, head_dim),
                                                       .dk = heads_of(dk.data(), c.kv_heads, head_dim),
                                                       .dv = heads_of(dv.data(), c.kv_heads, e)};
  if (c.masked) {
    for_each_head([&](int64_t s, int64_t h) { portable::MaskedLinearBackward(call, longest, s, h).run(); });
  } else {
    portable::linear_attention_backward(call);
  }
  // Relative to the largest element: central differences in double err by step² and by rounding / step, both near
  // 1e-10.
  EXPECT_LT(relative_error(dq, numeric_gradient(q, value)), 1e-8);
  EXPECT_LT(relative_error(dk, numeric_gradient(k, value)), 1e-8);
  EXPECT_LT(relative_error(dv, numeric_gradient(v, value)), 1e-8);
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
