#include "weft/kernels/linear_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/comparison.h"
#include "tests/kernels/heads_array.h"
#include "tests/support/message_of.h"
#include "weft/base/error.h"
#include "weft/kernels/portable/masked_linear_attention.h"

namespace weft::kernels {
namespace {

using Segments = std::vector<AttentionSegment>;
using testing_support::message_of;

struct Case {
  std::string name;
  Segments segments;
  int64_t heads = 2;
  int64_t kv_heads = 2;
  int64_t head_dim = 16;
  int64_t value_dim = 0;
  bool causal = false;
  bool masked = false;  // by a boolean mask, other for each segment and head, under which query 0 sees nothing
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

Segments equal_segments(int64_t count, int64_t q_length, int64_t k_length) {
  Segments segments;
  for (int64_t s = 0; s < count; ++s) segments.push_back({s * q_length, q_length, s * k_length, k_length});
  return segments;
}

// Padded: every segment has room for the longest, and says how many keys are real.
Segments padded_segments() { return {{0, 90, 0, 90}, {90, 90, 90, 65}, {180, 90, 180, 1}, {270, 90, 270, 0}}; }
// Packed: segments of any length end to end, some without queries or keys.
Segments packed_segments() {
  return {{0, 5, 0, 5},     {5, 64, 5, 64}, {69, 1, 69, 1},    {70, 0, 70, 4},
          {70, 17, 74, 17}, {87, 3, 91, 0}, {90, 130, 91, 130}};
}

std::vector<Case> cases() {
  std::vector<Case> both = {
      {.name = "few_tokens", .segments = {{0, 3, 0, 3}, {3, 1, 3, 4}, {4, 4, 7, 2}, {8, 2, 9, 0}}, .head_dim = 20},
      {.name = "few_queries", .segments = equal_segments(3, 2, 90), .heads = 6, .head_dim = 20, .value_dim = 36},
      {.name = "chunks", .segments = equal_segments(2, 200, 200), .head_dim = 64},
      {.name = "whole_chunks", .segments = equal_segments(1, 256, 256), .head_dim = 32},
      {.name = "head_dim_5", .segments = equal_segments(2, 70, 70), .heads = 3, .kv_heads = 3, .head_dim = 5},
      {.name = "head_dim_80", .segments = equal_segments(1, 100, 100), .head_dim = 80},
      {.name = "value_dim", .segments = equal_segments(2, 73, 73), .head_dim = 24, .value_dim = 40},
      {.name = "value_dim_small", .segments = equal_segments(2, 73, 73), .head_dim = 24, .value_dim = 3},
      {.name = "grouped", .segments = packed_segments(), .heads = 6, .kv_heads = 2},
      {.name = "multi_query", .segments = packed_segments(), .heads = 4, .kv_heads = 1, .head_dim = 32},
      {.name = "padded", .segments = padded_segments()},
      {.name = "more_keys", .segments = equal_segments(2, 50, 171)},
      {.name = "more_queries", .segments = equal_segments(2, 171, 50)},
      {.name = "masked", .segments = {{0, 40, 0, 40}, {40, 3, 40, 9}}, .heads = 4, .head_dim = 20, .masked = true},
  };
  std::vector<Case> all;
  for (const Case& c : both) {
    all.push_back(c);
    all.push_back(c);
    all.back().name += "_causal";
    all.back().causal = true;
  }
  return all;
}

// Everything of one call in storage T, and what it gave.
template <typename T>
struct Trial {
  explicit Trial(const Case& c) : config(c) {
    int64_t q_tokens = 0, k_tokens = 0;
    for (const AttentionSegment& s : config.segments) {
      q_tokens = std::max(q_tokens, s.q_begin + s.q_length);
      k_tokens = std::max(k_tokens, s.k_begin + s.k_length);
    }
    const int64_t value_dim = c.value_dim > 0 ? c.value_dim : c.head_dim;
    q = HeadsArray<T>(q_tokens, c.heads, c.head_dim), k = HeadsArray<T>(k_tokens, c.kv_heads, c.head_dim);
    v = HeadsArray<T>(k_tokens, c.kv_heads, value_dim), d_output = HeadsArray<T>(q_tokens, c.heads, value_dim);
    q.fill_normal({1, 1}), k.fill_normal({1, 2}), v.fill_normal({1, 3}), d_output.fill_normal({1, 4});
    output = HeadsArray<T>(q_tokens, c.heads, value_dim), dq = HeadsArray<T>(q_tokens, c.heads, c.head_dim);
    dk = HeadsArray<T>(k_tokens, c.kv_heads, c.head_dim), dv = HeadsArray<T>(k_tokens, c.kv_heads, value_dim);
    stride = q_tokens + 3;
    denominators.assign(static_cast<size_t>(c.heads * stride), HeadsArray<T>::unused);
    problem = {.segments = config.segments,
               .heads = c.heads,
               .kv_heads = c.kv_heads,
               .head_dim = c.head_dim,
               .value_dim = c.value_dim,
               .causal = c.causal};
    if (!c.masked) return;
    const portable::LongestLengths longest = portable::longest_lengths(problem);
    allowed.resize(c.segments.size() * static_cast<size_t>(c.heads * longest.q * longest.k));
    for (size_t i = 0; i < allowed.size(); ++i) {
      const bool first_query = static_cast<int64_t>(i) / longest.k % longest.q == 0;
      allowed[i] = !first_query && Rng{5, 5}.bernoulli(0.6, i);
    }
    problem.allowed = allowed.data();
    problem.allowed_query_stride = longest.k;
    problem.allowed_head_stride = longest.q * longest.k;
    problem.allowed_segment_stride = c.heads * longest.q * longest.k;
  }

  LinearAttention call() const { return {.problem = problem, .q = q.view(), .k = k.view(), .v = v.view()}; }
  LinearAttentionForward forward_call() {
    return {.attention = call(),
            .output = output.view(),
            .denominators = denominators.data(),
            .denominator_stride = stride};
  }
  LinearAttentionBackward backward_call() {
    return {.attention = call(),
            .output = std::as_const(output).view(),
            .d_output = std::as_const(d_output).view(),
            .denominators = denominators.data(),
            .denominator_stride = stride,
            .dq = dq.view(),
            .dk = dk.view(),
            .dv = dv.view()};
  }
  void run() {
    linear_attention_forward(forward_call());
    linear_attention_backward(backward_call());
  }

  Case config;
  AttentionProblem problem;
  std::vector<uint8_t> allowed;
  HeadsArray<T> q{0, 1, 1}, k{0, 1, 1}, v{0, 1, 1}, d_output{0, 1, 1}, output{0, 1, 1}, dq{0, 1, 1}, dk{0, 1, 1},
      dv{0, 1, 1};
  int64_t stride = 0;
  std::vector<float> denominators;
};

struct Expected {
  HeadsArray<double> output, dq, dk, dv;
  std::vector<double> denominators;
};

// The recurrence in double, or, under a boolean mask, all pairs.
template <typename T>
Expected expected_of(const Trial<T>& run) {
  const auto q = run.q.template to<double>(), k = run.k.template to<double>(), v = run.v.template to<double>();
  const auto d_output = run.d_output.template to<double>();
  Expected expected{run.output.template to<double>(), run.dq.template to<double>(), run.dk.template to<double>(),
                    run.dv.template to<double>(), widen(run.denominators)};
  const portable::LinearAttentionForward<double, double> forward{.problem = run.problem,
                                                                 .q = q.oracle_view(),
                                                                 .k = k.oracle_view(),
                                                                 .v = v.oracle_view(),
                                                                 .output = expected.output.oracle_view(),
                                                                 .denominators = expected.denominators.data(),
                                                                 .denominator_stride = run.stride};
  const portable::LinearAttentionBackward<double> backward{.problem = run.problem,
                                                           .q = q.oracle_view(),
                                                           .k = k.oracle_view(),
                                                           .v = v.oracle_view(),
                                                           .output = std::as_const(expected.output).oracle_view(),
                                                           .d_output = d_output.oracle_view(),
                                                           .denominators = expected.denominators.data(),
                                                           .denominator_stride = run.stride,
                                                           .dq = expected.dq.oracle_view(),
                                                           .dk = expected.dk.oracle_view(),
                                                           .dv = expected.dv.oracle_view()};
  if (!run.config.masked) {
    portable::linear_attention_forward(forward);
    portable::linear_attention_backward(backward);
    return expected;
  }
  const portable::LongestLengths longest = portable::longest_lengths(run.problem);
  for (int64_t i = 0; i < static_cast<int64_t>(run.config.segments.size()) * run.config.kv_heads; ++i) {
    const int64_t segment = i / run.config.kv_heads, kv_head = i % run.config.kv_heads;
    portable::masked_linear_attention_forward(forward, longest, segment, kv_head);
    portable::MaskedLinearBackward(backward, longest, segment, kv_head).run();
  }
  return expected;
}

// The same by all pairs of queries and keys.
HeadsArray<double> quadratic_output(const Trial<double>& run) {
  HeadsArray<double> output = run.output;
  const auto feature = [](double x) { return x > 0.0 ? x + 1.0 : std::exp(x); };
  const portable::LongestLengths longest = portable::longest_lengths(run.problem);
  for (size_t segment = 0; segment < run.config.segments.size(); ++segment) {
    const AttentionSegment& s = run.config.segments[segment];
    for (int64_t h = 0; h < run.config.heads; ++h) {
      const portable::AttentionHead head{run.problem, longest, static_cast<int64_t>(segment), h};
      const int64_t kv = h / (run.config.heads / run.config.kv_heads);
      for (int64_t i = 0; i < s.q_length; ++i) {
        std::vector<double> sum(static_cast<size_t>(output.dim));
        double total = 0.0;
        for (int64_t j = 0; j < s.k_length; ++j) {
          if (run.config.causal && j > i + s.k_length - s.q_length) continue;
          if (run.config.masked && run.allowed[static_cast<size_t>(head.element(i, j))] == 0) continue;
          double similarity = 0.0;
          for (int64_t c = 0; c < run.config.head_dim; ++c) {
            similarity += feature(run.q.at(s.q_begin + i, h, c)) * feature(run.k.at(s.k_begin + j, kv, c));
          }
          total += similarity;
          for (int64_t e = 0; e < output.dim; ++e) {
            sum[static_cast<size_t>(e)] += similarity * run.v.at(s.k_begin + j, kv, e);
          }
        }
        for (int64_t e = 0; e < output.dim; ++e) {
          output.at(s.q_begin + i, h, e) = total > 0.0 ? sum[static_cast<size_t>(e)] / total : 0.0;
        }
      }
    }
  }
  return output;
}

class LinearAttentionCases : public testing::TestWithParam<Case> {};

TEST_P(LinearAttentionCases, PortableIsTheQuadraticForm) {
  const Trial<double> run(GetParam());
  // Sums of at most 271 terms in another order, in double.
  EXPECT_LT(relative_error(expected_of(run).output.values(), quadratic_output(run).values()), 1e-12);
}

TEST_P(LinearAttentionCases, AgreesWithPortableInF32) {
  Trial<float> run(GetParam());
  run.run();
  const Expected expected = expected_of(run);
  // Relative to the largest element: float32 sums of up to 256 · 80 terms, in another order than the oracle's double.
  constexpr double tolerance = 1e-5;
  EXPECT_LT(relative_error(run.output.values(), expected.output.values()), tolerance);
  EXPECT_LT(relative_error(widen(run.denominators), expected.denominators), tolerance);
  EXPECT_LT(relative_error(run.dq.values(), expected.dq.values()), tolerance);
  EXPECT_LT(relative_error(run.dk.values(), expected.dk.values()), tolerance);
  EXPECT_LT(relative_error(run.dv.values(), expected.dv.values()), tolerance);
  // What lies between the rows stays as it was, in every array alike.
  EXPECT_EQ(std::ranges::count(run.dv.data, HeadsArray<float>::unused),
            std::ranges::count(expected.dv.data, double{HeadsArray<float>::unused}));
}

TEST_P(LinearAttentionCases, AgreesWithPortableInBf16) {
  Trial<BFloat16> run(GetParam());
  run.run();
  const Expected expected = expected_of(run);
  // Relative to the largest element: results are rounded to bf16 (2^-9); backward also reads the rounded output.
  EXPECT_LT(relative_error(run.output.values(), expected.output.values()), 0x1p-8);
  EXPECT_LT(relative_error(widen(run.denominators), expected.denominators), 1e-5);
  EXPECT_LT(relative_error(run.dq.values(), expected.dq.values()), 0x1p-7);
  EXPECT_LT(relative_error(run.dk.values(), expected.dk.values()), 0x1p-7);
  EXPECT_LT(relative_error(run.dv.values(), expected.dv.values()), 0x1p-7);
}

TEST_P(LinearAttentionCases, WeightsGiveTheOutput) {
  Trial<float> run(GetParam());
  run.run();
  const portable::LongestLengths longest = portable::longest_lengths(run.problem);
  std::vector<float> weights(run.config.segments.size() * static_cast<size_t>(run.config.heads * longest.q * longest.k),
                             5.0f);
  linear_attention_weights(run.call(), weights.data());
  HeadsArray<double> output = run.output.to<double>();
  size_t row = 0;
  for (const AttentionSegment& s : run.config.segments) {
    for (int64_t h = 0; h < run.config.heads; ++h) {
      for (int64_t i = 0; i < longest.q; ++i, ++row) {
        const auto weight = std::span(weights).subspan(row * static_cast<size_t>(longest.k));
        for (int64_t e = 0; e < output.dim && i < s.q_length; ++e) {
          output.at(s.q_begin + i, h, e) = 0.0;
          for (int64_t j = 0; j < s.k_length; ++j) {
            output.at(s.q_begin + i, h, e) += static_cast<double>(weight[static_cast<size_t>(j)]) *
                                              run.v.at(s.k_begin + j, h / (run.config.heads / run.config.kv_heads), e);
          }
        }
        for (int64_t j = i < s.q_length ? s.k_length : 0; j < longest.k; ++j) {
          ASSERT_EQ(weight[static_cast<size_t>(j)], 0.0f) << "outside the segment";
        }
      }
    }
  }
  EXPECT_LT(relative_error(run.output.values(), output.values()), 1e-5);  // both in float32
}

TEST_P(LinearAttentionCases, SameBitsForAnyThreadCount) {
  Trial<float> one(GetParam()), three(GetParam());
  with_threads(1, [&] { one.run(); });
  with_threads(3, [&] { three.run(); });
  EXPECT_EQ(one.output.data, three.output.data);
  EXPECT_EQ(one.denominators, three.denominators);
  EXPECT_EQ(one.dq.data, three.dq.data);
  EXPECT_EQ(one.dk.data, three.dk.data);
  EXPECT_EQ(one.dv.data, three.dv.data);
}

INSTANTIATE_TEST_SUITE_P(LinearAttention, LinearAttentionCases, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

// Runs the sequences of a trial in pieces of `length` tokens, the state carrying what was before.
template <typename T>
void run_in_pieces(Trial<T>& run, int64_t length) {
  const Case& c = run.config;
  const auto size =
      static_cast<size_t>(linear_state_size(c.kv_heads, c.head_dim, c.value_dim > 0 ? c.value_dim : c.head_dim));
  std::vector<std::vector<float>> states(c.segments.size(), std::vector<float>(size));
  const int64_t longest = portable::longest_lengths(run.problem).q;
  for (int64_t begin = 0; begin < longest; begin += length) {
    Segments pieces;
    std::vector<float*> pointers;
    for (size_t s = 0; s < c.segments.size(); ++s) {
      const AttentionSegment& whole = c.segments[s];
      const int64_t count = std::clamp<int64_t>(whole.q_length - begin, 0, length);
      pieces.push_back({whole.q_begin + begin, count, whole.k_begin + begin, count});
      pointers.push_back(states[s].data());
    }
    LinearAttentionForward call = run.forward_call();
    call.attention.problem.segments = pieces;
    call.attention.states = pointers;
    linear_attention_forward(call);
  }
}

TEST(LinearAttentionState, CarriesASequenceInPieces) {
  Case c{.name = "pieces", .segments = {{0, 150, 0, 150}, {150, 7, 150, 7}}, .heads = 4, .head_dim = 20};
  c.value_dim = 72;
  c.causal = true;
  Trial<float> whole(c);
  linear_attention_forward(whole.forward_call());
  for (const int64_t length : {1, 3, 64, 70}) {
    Trial<float> pieces(c);
    run_in_pieces(pieces, length);
    // Both in float32, relative to the largest element.
    EXPECT_LT(relative_error(pieces.output.values(), whole.output.values()), 1e-5) << length;
    EXPECT_LT(relative_error(widen(pieces.denominators), widen(whole.denominators)), 1e-5) << length;
  }
  Trial<BFloat16> whole_bf16(c), pieces_bf16(c);
  linear_attention_forward(whole_bf16.forward_call());
  run_in_pieces(pieces_bf16, 1);
  EXPECT_LT(relative_error(pieces_bf16.output.values(), whole_bf16.output.values()), 0x1p-8);
}

TEST(LinearAttentionState, HoldsTheKeysOfAnotherSequence) {
  const Case c{.name = "cross", .segments = {{0, 9, 0, 100}, {9, 1, 100, 3}}, .heads = 4};
  Trial<float> whole(c), parts(c);
  linear_attention_forward(whole.forward_call());
  std::vector<float> states(2 * static_cast<size_t>(linear_state_size(2, 16, 16)));
  const std::vector<float*> pointers = {states.data(), states.data() + states.size() / 2};
  for (const bool queries : {false, true}) {
    Segments segments = c.segments;
    for (AttentionSegment& segment : segments) (queries ? segment.k_length : segment.q_length) = 0;
    LinearAttentionForward call = parts.forward_call();
    call.attention.problem.segments = segments;
    call.attention.states = pointers;
    linear_attention_forward(call);
  }
  EXPECT_LT(relative_error(parts.output.values(), whole.output.values()), 1e-6);  // the same sums in float32
}

// The output is the value whatever query and key are: differences of equal numbers are left of their gradients.
TEST(LinearAttention, OneKeyGivesItsValue) {
  Trial<float> run({.name = "one_key", .segments = equal_segments(1, 1, 1), .causal = true});
  run.run();
  EXPECT_LT(relative_error(run.output.values(), run.v.values()), 1e-6);  // float32, values of size 1
  EXPECT_LT(relative_error(run.dv.values(), run.d_output.values()), 1e-6);
  for (const auto* array : {&run.dq, &run.dk}) {
    for (const double value : array->values()) EXPECT_NEAR(value, 0.0, 1e-6);
  }
}

// Features that vanish are a query that sees nothing, not 0/0.
TEST(LinearAttention, VanishingFeaturesGiveZeros) {
  for (const int64_t length : {2, 40}) {
    Trial<float> run({.name = "far", .segments = equal_segments(1, length, length), .causal = true});
    std::ranges::fill(run.q.data, -200.0f);
    run.run();
    for (const auto* array : {&run.output, &run.dq, &run.dk, &run.dv}) {
      for (const double value : array->values()) ASSERT_EQ(value, 0.0);
    }
  }
}

TEST(LinearAttention, ANumberThatIsNoneShows) {
  Trial<float> run({.name = "nan", .segments = equal_segments(1, 20, 20)});
  run.k.at(3, 1, 2) = std::numeric_limits<float>::quiet_NaN();
  run.run();
  EXPECT_FALSE(std::isnan(run.output.at(5, 0, 0)));
  EXPECT_TRUE(std::isnan(run.output.at(5, 1, 0)));
}

TEST(LinearAttention, RefusesWhatItCannotDo) {
  Trial<float> run({.name = "bad", .segments = equal_segments(1, 4, 4), .causal = true});
  const auto message = [&](const auto& change) {
    LinearAttentionForward call = run.forward_call();
    change(call);
    return message_of([&] { linear_attention_forward(call); });
  };
  using testing::HasSubstr;
  const uint8_t allowed = 1;
  std::vector<float> state(static_cast<size_t>(linear_state_size(2, 16, 16)));
  const std::vector<float*> states = {state.data()};
  const Segments uneven = {{0, 2, 0, 4}};
  EXPECT_THAT(message([&](auto& call) {
                call.attention.problem.allowed = &allowed;
                call.attention.states = states;
              }),
              HasSubstr("no keys that a boolean mask could hide"));
  EXPECT_THAT(message([&](auto& call) { call.attention.problem.dropout.probability = 0.1f; }), HasSubstr("dropout"));
  EXPECT_THAT(message([&](auto& call) { call.attention.problem.kv_heads = 3; }), HasSubstr("kv_heads 3"));
  EXPECT_THAT(message([&](auto& call) { call.output.dtype = DType::bf16; }), HasSubstr("output is bf16"));
  EXPECT_THAT(message([&](auto& call) { call.attention.q.dtype = DType::i32; }), HasSubstr("expected f32 or bf16"));
  EXPECT_THAT(message([&](auto& call) {
                call.attention.states = states;
                call.attention.problem.segments = uneven;
              }),
              HasSubstr("one new key per query, got 4 keys and 2 queries"));
  LinearAttentionBackward backward = run.backward_call();
  backward.attention.states = states;
  EXPECT_THAT(message_of([&] { linear_attention_backward(backward); }), HasSubstr("no gradient through the states"));
  LinearAttention with_state = run.call();
  with_state.states = states;
  EXPECT_THAT(message_of([&] { linear_attention_weights(with_state, state.data()); }), HasSubstr("holds no keys"));
}

}  // namespace
}  // namespace weft::kernels
