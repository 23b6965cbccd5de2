// Attention by its scores in blocks and pieces on several threads, against its formulas in double on whole heads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/kernels/comparison.h"
#include "weft/kernels/portable/scored_attention.h"
#include "weft/kernels/scored_attention.h"

namespace weft::kernels {
namespace {

constexpr int64_t head_dim = 8;
constexpr int64_t value_dim = 6;
constexpr int64_t max_distance = 3;

struct Case {
  std::string name;
  std::vector<AttentionSegment> segments;
  int64_t heads = 1;
  int64_t kv_heads = 1;
  bool causal = false;
};

// Everything that a call can have at once: relative tables, slopes, a mask of numbers, values of another width.
class Problem {
 public:
  explicit Problem(const Case& test) : segments_(test.segments) {
    int64_t q_rows = 0, k_rows = 0;
    for (const AttentionSegment& segment : segments_) {
      q_rows = std::max(q_rows, segment.q_begin + segment.q_length);
      k_rows = std::max(k_rows, segment.k_begin + segment.k_length);
      longest_k_ = std::max(longest_k_, segment.k_length);
      longest_q_ = std::max(longest_q_, segment.q_length);
    }
    q = random_floats(q_rows * test.heads * head_dim, 1);
    k = random_floats(k_rows * test.kv_heads * head_dim, 2);
    v = random_floats(k_rows * test.kv_heads * value_dim, 3);
    d_output = random_floats(q_rows * test.heads * value_dim, 4);
    slopes_ = {0.3f, 0.1f, 0.05f, 0.2f};
    keys_ = random_floats((2 * max_distance + 1) * head_dim, 5);
    values_ = random_floats((2 * max_distance + 1) * value_dim, 6);
    added_ = random_floats(longest_q_ * longest_k_, 7);
    output.resize(d_output.size());
    weights.resize(segments_.size() * static_cast<size_t>(test.heads * longest_q_ * longest_k_), 77.0f);
    dq.resize(q.size()), dk.resize(k.size()), dv.resize(v.size());
    d_keys.resize(keys_.size()), d_values.resize(values_.size());
    call.problem = {.segments = segments_,
                    .heads = test.heads,
                    .kv_heads = test.kv_heads,
                    .head_dim = head_dim,
                    .value_dim = value_dim,
                    .scale = 0.35f,
                    .causal = test.causal};
    call.terms.relative_keys = keys_.data();
    call.terms.relative_values = values_.data();
    call.terms.max_distance = max_distance;
    call.terms.slopes = slopes_.data();
    call.additive = {.data = added_.data(), .query_stride = longest_k_};
    call.q = view(q, test.heads, head_dim);
    call.k = view(k, test.kv_heads, head_dim);
    call.v = view(v, test.kv_heads, value_dim);
  }

  void run() {
    const int64_t heads = call.problem.heads, kv_heads = call.problem.kv_heads;
    scored_attention_forward(call, view(output, heads, value_dim), weights.data());
    scored_attention_backward(call, view(d_output, heads, value_dim),
                              {.dq = view(dq, heads, head_dim),
                               .dk = view(dk, kv_heads, head_dim),
                               .dv = view(dv, kv_heads, value_dim),
                               .relative_keys = d_keys.data(),
                               .relative_values = d_values.data()});
  }
  void compare() const;

  ScoredAttention call;
  std::vector<float> q, k, v, d_output, output, weights, dq, dk, dv, d_keys, d_values;

 private:
  static MutableHeads view(std::vector<float>& array, int64_t heads, int64_t width) {
    return {array.data(), DType::f32, heads * width, width};
  }
  std::vector<AttentionSegment> segments_;
  std::vector<float> slopes_, keys_, values_, added_;
  int64_t longest_q_ = 0, longest_k_ = 0;
};

// Rows [begin, begin + count) of one head as dense doubles, and added back.
std::vector<double> head_of(const std::vector<double>& array, int64_t heads, int64_t width, int64_t head, int64_t begin,
                            int64_t count) {
  std::vector<double> rows;
  for (int64_t t = begin; t < begin + count; ++t) {
    const auto first = array.begin() + (t * heads + head) * width;
    rows.insert(rows.end(), first, first + width);
  }
  return rows;
}

void add_head(const std::vector<double>& rows, int64_t heads, int64_t width, int64_t head, int64_t begin,
              std::vector<double>& array) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t row = begin + static_cast<int64_t>(i) / width, column = static_cast<int64_t>(i) % width;
    array[static_cast<size_t>((row * heads + head) * width + column)] += rows[i];
  }
}

// Relative to the largest element: sums of up to 300 terms in f32, each rounded by 6e-8, and exp.
void expect_near(const char* what, const std::vector<float>& actual, const std::vector<double>& expected) {
  EXPECT_LE(relative_error(widen(actual), expected), 2e-5) << what;
}

void Problem::compare() const {
  const AttentionProblem& problem = call.problem;
  const int64_t heads = problem.heads, kv_heads = problem.kv_heads;
  const std::vector<double> keys = widen(keys_), values = widen(values_);
  std::vector<double> y(output.size()), p(weights.size()), gq(q.size()), gk(k.size()), gv(v.size()),
      g_keys(keys.size()), g_values(values.size());
  for (size_t s = 0; s < segments_.size(); ++s) {
    const AttentionSegment& segment = segments_[s];
    const int64_t n = segment.q_length, m = segment.k_length;
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t kv = h / (heads / kv_heads);
      const auto own_q = head_of(widen(q), heads, head_dim, h, segment.q_begin, n);
      const auto own_k = head_of(widen(k), kv_heads, head_dim, kv, segment.k_begin, m);
      const auto own_v = head_of(widen(v), kv_heads, value_dim, kv, segment.k_begin, m);
      std::vector<double> k_transposed(own_k.size()), v_transposed(own_v.size());
      portable::transpose(own_k.data(), m, head_dim, k_transposed.data());
      portable::transpose(own_v.data(), m, value_dim, v_transposed.data());
      const portable::ScoredHead<double> head{
          .head = {problem, portable::longest_lengths(problem), static_cast<int64_t>(s), h},
          .begin = 0,
          .end = n,
          .terms = {keys.data(), values.data(), nullptr, call.terms},
          .additive = call.additive,
          .q = own_q.data(),
          .k = own_k.data(),
          .k_transposed = k_transposed.data(),
          .v = own_v.data(),
          .v_transposed = v_transposed.data()};
      std::vector<double> soft(static_cast<size_t>(n * m)), own_p(soft.size()),
          own_y(static_cast<size_t>(n * value_dim));
      portable::scored_weights(head, soft.data(), own_p.data());
      portable::scored_output(head, own_p.data(), own_y.data());
      for (int64_t i = 0; i < n; ++i) {
        std::copy_n(own_p.begin() + i * m, m, p.begin() + head.head.element(i, 0));
      }
      add_head(own_y, heads, value_dim, h, segment.q_begin, y);
      std::vector<double> own_dq(own_q.size()), own_dk(own_k.size()), own_dv(own_v.size());
      const auto dy = head_of(widen(d_output), heads, value_dim, h, segment.q_begin, n);
      portable::scored_head_backward(head, soft.data(), own_p.data(), dy.data(), own_dq.data(), own_dk.data(),
                                     own_dv.data(), {g_keys.data(), g_values.data(), nullptr});
      add_head(own_dq, heads, head_dim, h, segment.q_begin, gq);
      add_head(own_dk, kv_heads, head_dim, kv, segment.k_begin, gk);
      add_head(own_dv, kv_heads, value_dim, kv, segment.k_begin, gv);
    }
  }
  expect_near("output", output, y);
  expect_near("weights", weights, p);
  expect_near("dq", dq, gq);
  expect_near("dk", dk, gk);
  expect_near("dv", dv, gv);
  expect_near("gradient of relative keys", d_keys, g_keys);
  expect_near("gradient of relative values", d_values, g_values);
}

class ScoredAttentionBlocks : public testing::TestWithParam<Case> {};

TEST_P(ScoredAttentionBlocks, MatchTheFormulasOnAnyNumberOfThreads) {
  Problem one(GetParam()), three(GetParam());
  with_threads(1, [&] { one.run(); });
  with_threads(3, [&] { three.run(); });
  three.compare();
  EXPECT_EQ(one.output, three.output);
  EXPECT_EQ(one.weights, three.weights);
  EXPECT_EQ(one.dq, three.dq);
  EXPECT_EQ(one.dk, three.dk);
  EXPECT_EQ(one.dv, three.dv);
  EXPECT_EQ(one.d_keys, three.d_keys);
  EXPECT_EQ(one.d_values, three.d_values);
}

INSTANTIATE_TEST_SUITE_P(
    Kernel, ScoredAttentionBlocks,
    testing::Values(
        Case{.name = "one_head", .segments = {{0, 300, 0, 300}}, .causal = true},
        Case{.name = "cross", .segments = {{0, 130, 0, 70}, {130, 65, 70, 20}}},
        Case{.name = "after_cache", .segments = {{0, 65, 0, 100}}, .heads = 2, .kv_heads = 1, .causal = true},
        Case{.name = "grouped", .segments = {{0, 200, 0, 150}}, .heads = 4, .kv_heads = 2},
        Case{.name = "uneven", .segments = {{0, 1, 0, 1}, {1, 190, 1, 190}, {191, 0, 191, 3}}, .causal = true},
        Case{.name = "many",
             .segments = {{0, 3, 0, 3},
                          {3, 4, 3, 4},
                          {7, 5, 7, 5},
                          {12, 2, 12, 2},
                          {14, 3, 14, 3},
                          {17, 3, 17, 3},
                          {20, 4, 20, 4},
                          {24, 5, 24, 5},
                          {29, 2, 29, 2},
                          {31, 3, 31, 3},
                          {34, 3, 34, 3},
                          {37, 4, 37, 4},
                          {41, 5, 41, 5},
                          {46, 2, 46, 2},
                          {48, 3, 48, 3},
                          {51, 3, 51, 3},
                          {54, 4, 54, 4},
                          {58, 5, 58, 5},
                          {63, 2, 63, 2}}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::kernels
