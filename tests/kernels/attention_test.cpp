#include "weft/kernels/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/kernels/heads_array.h"
#include "weft/base/dtype.h"
#include "weft/base/error.h"
#include "weft/base/rng.h"
#include "weft/base/threads.h"
#include "weft/kernels/portable/attention.h"

namespace weft::kernels {
namespace {

using Segments = std::vector<AttentionSegment>;

enum class MaskKind { none, per_query, per_head };
enum class Layout { separate, fused };  // fused: q, k and v are columns of one (tokens, 3·h·e) array

struct Case {
  std::string name;
  Segments segments;
  int64_t heads = 1;
  int64_t kv_heads = 1;
  int64_t head_dim = 16;
  int64_t value_dim = 0;
  bool causal = false;
  MaskKind mask = MaskKind::none;
  float dropout = 0.0f;
  Layout layout = Layout::separate;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

template <typename T>
using Array = HeadsArray<T>;

// Everything of one call in storage T, and what it gave.
template <typename T>
struct Trial {
  explicit Trial(const Case& c) : config(c), q_tokens(0), k_tokens(0) {
    int64_t longest_q = 0, longest_k = 0;
    for (const AttentionSegment& s : config.segments) {
      q_tokens = std::max(q_tokens, s.q_begin + s.q_length);
      k_tokens = std::max(k_tokens, s.k_begin + s.k_length);
      longest_q = std::max(longest_q, s.q_length);
      longest_k = std::max(longest_k, s.k_length);
    }
    const int64_t value_dim = c.value_dim > 0 ? c.value_dim : c.head_dim;
    q = Array<T>(q_tokens, c.heads, c.head_dim);
    k = Array<T>(k_tokens, c.kv_heads, c.head_dim);
    v = Array<T>(k_tokens, c.kv_heads, value_dim);
    d_output = Array<T>(q_tokens, c.heads, value_dim);
    q.fill_normal({1, 1});
    k.fill_normal({1, 2});
    v.fill_normal({1, 3});
    d_output.fill_normal({1, 4});
    output = Array<T>(q_tokens, c.heads, value_dim);
    dq = Array<T>(q_tokens, c.heads, c.head_dim);
    dk = Array<T>(k_tokens, c.kv_heads, c.head_dim);
    dv = Array<T>(k_tokens, c.kv_heads, value_dim);
    log_sum_exp.assign(static_cast<size_t>(c.heads * (q_tokens + 3)), Array<T>::unused);
    problem = {.segments = config.segments,
               .heads = c.heads,
               .kv_heads = c.kv_heads,
               .head_dim = c.head_dim,
               .value_dim = c.value_dim,
               .scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim)),
               .causal = c.causal,
               .dropout = {c.dropout, Rng{7, 9}}};
    if (c.mask == MaskKind::none) return;
    const int64_t mask_heads = c.mask == MaskKind::per_head ? c.heads : 1;
    const auto segments = static_cast<int64_t>(c.segments.size());
    allowed.resize(static_cast<size_t>(segments * mask_heads * longest_q * longest_k));
    for (size_t i = 0; i < allowed.size(); ++i) allowed[i] = Rng{3, 3}.bernoulli(0.6, i) ? 2 : 0;
    for (int64_t j = 0; j < longest_k; ++j) allowed[static_cast<size_t>(j)] = 0;  // the first query sees nothing
    problem.allowed = allowed.data();
    problem.allowed_query_stride = longest_k;
    problem.allowed_head_stride = c.mask == MaskKind::per_head ? longest_q * longest_k : 0;
    problem.allowed_segment_stride = mask_heads * longest_q * longest_k;
  }

  AttentionForward forward_call() {
    return {.problem = problem,
            .q = std::as_const(q).view(),
            .k = std::as_const(k).view(),
            .v = std::as_const(v).view(),
            .output = output.view(),
            .log_sum_exp = log_sum_exp.data(),
            .log_sum_exp_stride = q_tokens + 3};
  }
  AttentionBackward backward_call() {
    return {.problem = problem,
            .q = std::as_const(q).view(),
            .k = std::as_const(k).view(),
            .v = std::as_const(v).view(),
            .output = std::as_const(output).view(),
            .d_output = std::as_const(d_output).view(),
            .log_sum_exp = log_sum_exp.data(),
            .log_sum_exp_stride = q_tokens + 3,
            .dq = dq.view(),
            .dk = dk.view(),
            .dv = dv.view()};
  }

  // Calls with q, k, v, dq, dk and dv as columns of one array, as the product of all three writes them.
  void run_fused() {
    const int64_t width = config.heads * config.head_dim;
    std::vector<T> qkv(static_cast<size_t>(q_tokens * 3 * width), T(Array<T>::unused)), d_qkv = qkv;
    const auto copy = [&](Array<T>& array, std::vector<T>& columns, int64_t part, bool into) {
      for (int64_t t = 0; t < q_tokens; ++t) {
        for (int64_t i = 0; i < width; ++i) {
          T& column = columns[static_cast<size_t>((3 * t + part) * width + i)];
          (into ? column : array.at(t, 0, i)) = into ? array.at(t, 0, i) : column;
        }
      }
    };
    copy(q, qkv, 0, true), copy(k, qkv, 1, true), copy(v, qkv, 2, true);
    const auto view = [&](auto& columns, int64_t part) {
      return MutableHeads{columns.data() + part * width, dtype_of<T>(), 3 * width, config.head_dim};
    };
    AttentionForward forward = forward_call();
    forward.q = view(qkv, 0), forward.k = view(qkv, 1), forward.v = view(qkv, 2);
    attention_forward(forward);
    AttentionBackward backward = backward_call();
    backward.q = view(qkv, 0), backward.k = view(qkv, 1), backward.v = view(qkv, 2);
    backward.dq = view(d_qkv, 0), backward.dk = view(d_qkv, 1), backward.dv = view(d_qkv, 2);
    attention_backward(backward);
    copy(dq, d_qkv, 0, false), copy(dk, d_qkv, 1, false), copy(dv, d_qkv, 2, false);
  }

  void run() {
    if (config.layout == Layout::fused) return run_fused();
    attention_forward(forward_call());
    attention_backward(backward_call());
  }

  Case config;
  int64_t q_tokens, k_tokens;
  AttentionProblem problem;
  std::vector<uint8_t> allowed;
  Array<T> q{0, 1, 1}, k{0, 1, 1}, v{0, 1, 1}, d_output{0, 1, 1}, output{0, 1, 1}, dq{0, 1, 1}, dk{0, 1, 1},
      dv{0, 1, 1};
  std::vector<float> log_sum_exp;
};

struct Expected {
  Array<double> output, dq, dk, dv;
  std::vector<double> log_sum_exp;
  std::vector<double> weights;
};

template <typename T>
Expected expected_of(const Trial<T>& run) {
  const Array<double> q = run.q.template to<double>(), k = run.k.template to<double>();
  const Array<double> v = run.v.template to<double>(), d_output = run.d_output.template to<double>();
  const portable::LongestLengths longest = portable::longest_lengths(run.problem);
  const size_t weights = run.problem.segments.size() * static_cast<size_t>(run.config.heads * longest.q * longest.k);
  Expected expected{run.output.template to<double>(),
                    run.dq.template to<double>(),
                    run.dk.template to<double>(),
                    run.dv.template to<double>(),
                    std::vector<double>(run.log_sum_exp.begin(), run.log_sum_exp.end()),
                    std::vector<double>(weights)};
  portable::attention_forward(portable::AttentionForward<double, double>{.problem = run.problem,
                                                                         .q = q.oracle_view(),
                                                                         .k = k.oracle_view(),
                                                                         .v = v.oracle_view(),
                                                                         .output = expected.output.oracle_view(),
                                                                         .log_sum_exp = expected.log_sum_exp.data(),
                                                                         .log_sum_exp_stride = run.q_tokens + 3,
                                                                         .weights = expected.weights.data()});
  portable::attention_backward(portable::AttentionBackward<double>{.problem = run.problem,
                                                                   .q = q.oracle_view(),
                                                                   .k = k.oracle_view(),
                                                                   .v = v.oracle_view(),
                                                                   .d_output = d_output.oracle_view(),
                                                                   .dq = expected.dq.oracle_view(),
                                                                   .dk = expected.dk.oracle_view(),
                                                                   .dv = expected.dv.oracle_view()});
  return expected;
}

Segments equal_segments(int64_t count, int64_t q_length, int64_t k_length) {
  Segments segments;
  for (int64_t s = 0; s < count; ++s) segments.push_back({s * q_length, q_length, s * k_length, k_length});
  return segments;
}

// Padded: every segment has room for the longest, and says how many keys are real.
Segments padded_segments() { return {{0, 20, 0, 20}, {20, 20, 20, 13}, {40, 20, 40, 1}, {60, 20, 60, 0}}; }
// Packed: segments of any length end to end, some without queries or keys.
Segments packed_segments() {
  return {{0, 5, 0, 5},     {5, 33, 5, 33}, {38, 1, 38, 1},  {39, 0, 39, 4},
          {39, 17, 43, 17}, {56, 3, 60, 0}, {59, 70, 60, 70}};
}

std::vector<Case> cases() {
  return {
      {.name = "count",
       .segments = equal_segments(5, 16, 16),
       .heads = 8,
       .kv_heads = 8,
       .head_dim = 32,
       .causal = true,
       .layout = Layout::fused},
      {.name = "count_dropout",
       .segments = equal_segments(3, 16, 16),
       .heads = 8,
       .kv_heads = 8,
       .head_dim = 32,
       .causal = true,
       .dropout = 0.2f},
      {.name = "gpt",
       .segments = equal_segments(2, 256, 256),
       .heads = 2,
       .kv_heads = 2,
       .head_dim = 64,
       .causal = true,
       .layout = Layout::fused},
      {.name = "gpt_dropout",
       .segments = equal_segments(1, 256, 256),
       .heads = 2,
       .kv_heads = 2,
       .head_dim = 64,
       .causal = true,
       .dropout = 0.2f,
       .layout = Layout::fused},
      {.name = "one_token", .segments = equal_segments(1, 1, 1)},
      {.name = "head_dim_5", .segments = equal_segments(2, 19, 19), .heads = 3, .kv_heads = 3, .head_dim = 5},
      {.name = "head_dim_20",
       .segments = equal_segments(2, 40, 40),
       .heads = 2,
       .kv_heads = 2,
       .head_dim = 20,
       .causal = true,
       .layout = Layout::fused},
      {.name = "head_dim_80", .segments = equal_segments(1, 100, 100), .heads = 2, .kv_heads = 2, .head_dim = 80},
      {.name = "head_dim_128",
       .segments = equal_segments(1, 70, 130),
       .heads = 2,
       .kv_heads = 1,
       .head_dim = 128,
       .causal = true},
      {.name = "value_dim",
       .segments = equal_segments(2, 37, 41),
       .heads = 2,
       .kv_heads = 2,
       .head_dim = 24,
       .value_dim = 40},
      {.name = "value_dim_small",
       .segments = equal_segments(2, 8, 41),
       .heads = 2,
       .kv_heads = 2,
       .head_dim = 24,
       .value_dim = 3,
       .causal = true},
      {.name = "grouped", .segments = packed_segments(), .heads = 6, .kv_heads = 2, .head_dim = 16, .causal = true},
      {.name = "multi_query", .segments = packed_segments(), .heads = 4, .kv_heads = 1, .head_dim = 32},
      {.name = "packed",
       .segments = packed_segments(),
       .heads = 2,
       .kv_heads = 2,
       .head_dim = 32,
       .causal = true,
       .dropout = 0.1f},
      {.name = "padded", .segments = padded_segments(), .heads = 2, .kv_heads = 2, .head_dim = 32},
      {.name = "padded_causal",
       .segments = padded_segments(),
       .heads = 2,
       .kv_heads = 2,
       .head_dim = 32,
       .causal = true},
      {.name = "cross",
       .segments = equal_segments(3, 9, 77),
       .heads = 2,
       .kv_heads = 2,
       .head_dim = 16,
       .dropout = 0.3f},
      {.name = "causal_offset",
       .segments = equal_segments(2, 50, 131),
       .heads = 2,
       .kv_heads = 2,
       .head_dim = 16,
       .causal = true},
      {.name = "causal_more_queries",
       .segments = equal_segments(2, 131, 50),
       .heads = 2,
       .kv_heads = 2,
       .head_dim = 16,
       .causal = true},
      {.name = "mask_per_query",
       .segments = packed_segments(),
       .heads = 2,
       .kv_heads = 2,
       .head_dim = 32,
       .mask = MaskKind::per_query},
      {.name = "mask_per_head",
       .segments = equal_segments(2, 75, 90),
       .heads = 3,
       .kv_heads = 3,
       .head_dim = 32,
       .causal = true,
       .mask = MaskKind::per_head,
       .dropout = 0.1f},
      {.name = "mask_small",
       .segments = equal_segments(3, 12, 12),
       .heads = 2,
       .kv_heads = 2,
       .head_dim = 16,
       .causal = true,
       .mask = MaskKind::per_head},
      {.name = "small_24",
       .segments = equal_segments(3, 24, 24),
       .heads = 2,
       .kv_heads = 2,
       .head_dim = 64,
       .causal = true,
       .dropout = 0.5f,
       .layout = Layout::fused},
      {.name = "small_32", .segments = equal_segments(3, 32, 32), .heads = 2, .kv_heads = 2, .head_dim = 32},
      {.name = "decode",
       .segments = equal_segments(2, 1, 300),
       .heads = 4,
       .kv_heads = 2,
       .head_dim = 64,
       .causal = true},
      {.name = "decode_dropout_mask",
       .segments = equal_segments(2, 2, 77),
       .heads = 4,
       .kv_heads = 2,
       .head_dim = 20,
       .causal = true,
       .mask = MaskKind::per_head,
       .dropout = 0.2f},
      {.name = "long_pieces",
       .segments = equal_segments(1, 600, 1100),
       .heads = 2,
       .kv_heads = 1,
       .head_dim = 16,
       .causal = true},
  };
}

class AttentionCases : public testing::TestWithParam<Case> {};

TEST_P(AttentionCases, AgreesWithPortableInF32) {
  Trial<float> run(GetParam());
  run.run();
  const Expected expected = expected_of(run);
  // Relative to the largest element: float32 products of up to 1100 terms, in another order than the oracle's double.
  constexpr double tolerance = 1e-5;
  EXPECT_LT(relative_difference(run.output.data, expected.output.data), tolerance);
  EXPECT_LT(relative_difference(run.log_sum_exp, expected.log_sum_exp), tolerance);
  EXPECT_LT(relative_difference(run.dq.data, expected.dq.data), tolerance);
  EXPECT_LT(relative_difference(run.dk.data, expected.dk.data), tolerance);
  EXPECT_LT(relative_difference(run.dv.data, expected.dv.data), tolerance);
}

TEST_P(AttentionCases, AgreesWithPortableInBf16) {
  Trial<BFloat16> run(GetParam());
  run.run();
  const Expected expected = expected_of(run);
  // Relative to the largest element: results are rounded to bf16 (2^-9); backward also reads the rounded output.
  EXPECT_LT(relative_difference(run.output.data, expected.output.data), 0x1p-8);
  EXPECT_LT(relative_difference(run.log_sum_exp, expected.log_sum_exp), 1e-5);
  EXPECT_LT(relative_difference(run.dq.data, expected.dq.data), 0x1p-7);
  EXPECT_LT(relative_difference(run.dk.data, expected.dk.data), 0x1p-7);
  EXPECT_LT(relative_difference(run.dv.data, expected.dv.data), 0x1p-7);
}

TEST_P(AttentionCases, ExplicitAgreesWithFused) {
  Trial<float> fused(GetParam()), explicit_run(GetParam());
  fused.config.layout = Layout::separate;
  fused.run();
  const Expected expected = expected_of(fused);
  std::vector<float> weights(expected.weights.size(), 5.0f);
  attention_forward_explicit(explicit_run.forward_call(), weights.data());
  // Both in float32, relative to the largest element.
  EXPECT_LT(relative_difference(explicit_run.output.data, fused.output.data), 1e-5);
  EXPECT_LT(relative_difference(explicit_run.log_sum_exp, fused.log_sum_exp), 1e-5);
  EXPECT_LT(relative_difference(weights, expected.weights), 1e-5);
}

TEST_P(AttentionCases, SameBitsForAnyThreadCount) {
  const int before = thread_count();
  Trial<float> one(GetParam()), three(GetParam());
  set_thread_count(1);
  one.run();
  set_thread_count(3);
  three.run();
  set_thread_count(before);
  EXPECT_EQ(one.output.data, three.output.data);
  EXPECT_EQ(one.log_sum_exp, three.log_sum_exp);
  EXPECT_EQ(one.dq.data, three.dq.data);
  EXPECT_EQ(one.dk.data, three.dk.data);
  EXPECT_EQ(one.dv.data, three.dv.data);
}

INSTANTIATE_TEST_SUITE_P(Attention, AttentionCases, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::kernels
