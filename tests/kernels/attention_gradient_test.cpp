#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/rng.h"
#include "weft/kernels/portable/attention.h"

namespace weft::kernels {
namespace {

struct GradientCase {
  std::string name;
  std::vector<AttentionSegment> segments;
  int64_t heads = 2;
  int64_t kv_heads = 2;
  int64_t value_dim = 0;
  bool causal = false;
  bool masked = false;
  float dropout = 0.0f;
};

std::ostream& operator<<(std::ostream& out, const GradientCase& c) { return out << c.name; }

constexpr int64_t head_dim = 3;
constexpr int64_t rows = 9;  // of every array

std::vector<double> random_array(int64_t heads, int64_t dim, uint64_t stream) {
  std::vector<double> array(static_cast<size_t>(rows * heads * dim));
  for (size_t i = 0; i < array.size(); ++i) array[i] = Rng{11, stream}.normal(i);
  return array;
}

template <typename T>
portable::Heads<T> heads_of(T* data, int64_t heads, int64_t dim) {
  return {data, heads * dim, dim};
}

// Σ output·d_output as a function of q, k and v, and its gradients.
struct Scalar {
  explicit Scalar(const GradientCase& c) : config(c), value_dim(c.value_dim > 0 ? c.value_dim : head_dim) {
    q = random_array(c.heads, head_dim, 1);
    k = random_array(c.kv_heads, head_dim, 2);
    v = random_array(c.kv_heads, value_dim, 3);
    d_output = random_array(c.heads, value_dim, 4);
    problem = {.segments = config.segments,
               .heads = c.heads,
               .kv_heads = c.kv_heads,
               .head_dim = head_dim,
               .value_dim = c.value_dim,
               .scale = 0.7f,
               .causal = c.causal,
               .dropout = {c.dropout, Rng{2, 3}}};
    if (!c.masked) return;
    allowed.resize(static_cast<size_t>(rows * rows));
    for (size_t i = 0; i < allowed.size(); ++i) {
      const bool second_query = i / rows == 1;  // sees nothing
      allowed[i] = !second_query && Rng{5, 5}.bernoulli(0.7, i);
    }
    problem.allowed = allowed.data();
    problem.allowed_query_stride = rows;
  }

  double value() const {
    std::vector<double> output(static_cast<size_t>(rows * config.heads * value_dim));
    portable::attention_forward(
        portable::AttentionForward<double, double>{.problem = problem,
                                                   .q = heads_of(q.data(), config.heads, head_dim),
                                                   .k = heads_of(k.data(), config.kv_heads, head_dim),
                                                   .v = heads_of(v.data(), config.kv_heads, value_dim),
                                                   .output = heads_of(output.data(), config.heads, value_dim)});
    double sum = 0.0;
    for (size_t i = 0; i < output.size(); ++i) sum += output[i] * d_output[i];
    return sum;
  }

  void differentiate() {
    dq.assign(q.size(), 0.0), dk.assign(k.size(), 0.0), dv.assign(v.size(), 0.0);
    const Scalar& self = *this;
    portable::attention_backward(
        portable::AttentionBackward<double>{.problem = problem,
                                            .q = heads_of(self.q.data(), config.heads, head_dim),
                                            .k = heads_of(self.k.data(), config.kv_heads, head_dim),
                                            .v = heads_of(self.v.data(), config.kv_heads, value_dim),
                                            .d_output = heads_of(self.d_output.data(), config.heads, value_dim),
                                            .dq = heads_of(dq.data(), config.heads, head_dim),
                                            .dk = heads_of(dk.data(), config.kv_heads, head_dim),
                                            .dv = heads_of(dv.data(), config.kv_heads, value_dim)});
  }

  // Largest difference between `gradient` and central differences of value() by the elements of `array`.
  double worst(std::vector<double>& array, const std::vector<double>& gradient) const {
    constexpr double step = 1e-5;
    double worst = 0.0;
    for (size_t i = 0; i < array.size(); ++i) {
      const double before = array[i];
      array[i] = before + step;
      const double above = value();
      array[i] = before - step;
      const double below = value();
      array[i] = before;
      worst = std::max(worst, std::abs((above - below) / (2.0 * step) - gradient[i]));
    }
    return worst;
  }

  GradientCase config;
  int64_t value_dim;
  AttentionProblem problem;
  std::vector<uint8_t> allowed;
  std::vector<double> q, k, v, d_output, dq, dk, dv;
};

class AttentionGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(AttentionGradient, IsTheDerivative) {
  Scalar scalar(GetParam());
  scalar.differentiate();
  // Absolute, with values of size 1: central differences in double err by step² and by rounding / step, both near
  // 1e-10.
  EXPECT_LT(scalar.worst(scalar.q, scalar.dq), 1e-8);
  EXPECT_LT(scalar.worst(scalar.k, scalar.dk), 1e-8);
  EXPECT_LT(scalar.worst(scalar.v, scalar.dv), 1e-8);
}

INSTANTIATE_TEST_SUITE_P(
    Portable, AttentionGradient,
    testing::Values(GradientCase{.name = "full", .segments = {{0, 9, 0, 9}}},
                    GradientCase{.name = "causal", .segments = {{0, 9, 0, 9}}, .causal = true},
                    GradientCase{.name = "causal_offset", .segments = {{0, 4, 0, 9}}, .causal = true},
                    GradientCase{.name = "more_queries", .segments = {{0, 9, 0, 5}}, .causal = true},
                    GradientCase{.name = "packed", .segments = {{0, 4, 0, 4}, {4, 5, 4, 5}}, .causal = true},
                    GradientCase{.name = "padded", .segments = {{0, 4, 0, 2}, {4, 5, 4, 0}}},
                    GradientCase{.name = "grouped", .segments = {{0, 9, 0, 9}}, .heads = 4},
                    GradientCase{.name = "multi_query", .segments = {{0, 9, 0, 9}}, .heads = 3, .kv_heads = 1},
                    GradientCase{.name = "value_dim", .segments = {{0, 7, 0, 8}}, .value_dim = 2},
                    GradientCase{.name = "masked", .segments = {{0, 9, 0, 9}}, .masked = true},
                    GradientCase{.name = "dropout", .segments = {{0, 9, 0, 9}}, .dropout = 0.3f},
                    GradientCase{.name = "everything",
                                 .segments = {{0, 5, 0, 4}, {5, 4, 4, 5}},
                                 .heads = 4,
                                 .value_dim = 5,
                                 .causal = true,
                                 .masked = true,
                                 .dropout = 0.2f}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::kernels
