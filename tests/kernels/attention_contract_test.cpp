// What callers of attention rely on besides its numbers: zeros for queries that see nothing, untouched padding, packed
// equal to padded, NaN that stays visible, and messages for bad arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/rng.h"
#include "weft/kernels/attention.h"

namespace weft::kernels {
namespace {

constexpr int64_t head_dim = 16;
constexpr int64_t heads = 2;
constexpr int64_t width = heads * head_dim;

// Self-attention of two heads over `tokens` rows, with everything a call needs.
struct SelfAttention {
  explicit SelfAttention(int64_t tokens) : tokens(tokens) {
    const auto size = static_cast<size_t>(tokens * width);
    for (auto* array : {&q, &k, &v, &d_output}) {
      array->resize(size);
      for (size_t i = 0; i < size; ++i) (*array)[i] = Rng{1, ++stream}.normal(i);
    }
    for (auto* array : {&output, &dq, &dk, &dv}) array->assign(size, untouched);
    log_sum_exp.assign(static_cast<size_t>(tokens * heads), untouched);
    problem = {.segments = {}, .heads = heads, .kv_heads = heads, .head_dim = head_dim, .scale = 0.25f};
  }

  static MutableHeads view(std::vector<float>& array) { return {array.data(), DType::f32, width, head_dim}; }
  AttentionForward forward_call() {
    problem.segments = segments;
    return {.problem = problem,
            .q = view(q),
            .k = view(k),
            .v = view(v),
            .output = view(output),
            .log_sum_exp = log_sum_exp.data(),
            .log_sum_exp_stride = tokens};
  }
  AttentionBackward backward_call() {
    problem.segments = segments;
    return {.problem = problem,
            .q = view(q),
            .k = view(k),
            .v = view(v),
            .output = view(output),
            .d_output = view(d_output),
            .log_sum_exp = log_sum_exp.data(),
            .log_sum_exp_stride = tokens,
            .dq = view(dq),
            .dk = view(dk),
            .dv = view(dv)};
  }
  void run() {
    attention_forward(forward_call());
    attention_backward(backward_call());
  }
  static std::vector<float> row(const std::vector<float>& array, int64_t token) {
    return {array.begin() + token * width, array.begin() + (token + 1) * width};
  }

  static constexpr float untouched = 77.0f;
  int64_t tokens;
  uint64_t stream = 0;
  std::vector<AttentionSegment> segments;
  std::vector<uint8_t> allowed;
  AttentionProblem problem;
  std::vector<float> q, k, v, d_output, output, dq, dk, dv, log_sum_exp;
};

// One length for each kernel: few queries, small, tiled.
class AttentionContract : public testing::TestWithParam<int64_t> {};

TEST_P(AttentionContract, QueryThatSeesNothingGivesZeros) {
  const int64_t n = GetParam();
  SelfAttention call(n);
  call.segments = {{0, n, 0, n - 1}};  // the first query of a causal segment with one key less
  call.problem.causal = true;
  call.run();
  const std::vector<float> zeros(width, 0.0f);
  EXPECT_EQ(call.row(call.output, 0), zeros);
  EXPECT_EQ(call.row(call.dq, 0), zeros);
  EXPECT_EQ(call.log_sum_exp[0], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isfinite(call.log_sum_exp[1]));
}

TEST_P(AttentionContract, SegmentWithoutKeysGivesZeros) {
  const int64_t n = GetParam();
  SelfAttention call(n);
  call.segments = {{0, n, 0, 0}};
  call.run();
  EXPECT_THAT(call.output, testing::Each(0.0f));
  EXPECT_THAT(call.dq, testing::Each(0.0f));
  EXPECT_THAT(call.dk, testing::Each(SelfAttention::untouched));
  EXPECT_THAT(call.log_sum_exp, testing::Each(-std::numeric_limits<float>::infinity()));
}

TEST_P(AttentionContract, SegmentWithoutQueriesGivesItsKeysZeroGradients) {
  const int64_t n = GetParam();
  SelfAttention call(n);
  call.segments = {{0, 0, 0, n}};
  call.run();
  EXPECT_THAT(call.output, testing::Each(SelfAttention::untouched));
  EXPECT_THAT(call.dk, testing::Each(0.0f));
  EXPECT_THAT(call.dv, testing::Each(0.0f));
}

TEST_P(AttentionContract, FullyMaskedGivesZeros) {
  const int64_t n = GetParam();
  SelfAttention call(n);
  call.segments = {{0, n, 0, n}};
  call.allowed.assign(static_cast<size_t>(n), 0);
  call.problem.allowed = call.allowed.data();  // the same row for every query
  call.run();
  for (const auto* array : {&call.output, &call.dq, &call.dk, &call.dv}) EXPECT_THAT(*array, testing::Each(0.0f));
}

TEST_P(AttentionContract, PackedEqualsPadded) {
  const int64_t n = GetParam(), shorter = (n + 1) / 2;
  SelfAttention padded(2 * n), packed(2 * n);
  padded.segments = {{0, shorter, 0, shorter}, {n, n, n, n}};
  packed.segments = {{0, shorter, 0, shorter}, {shorter, n, shorter, n}};
  padded.problem.causal = packed.problem.causal = true;
  for (auto array : {&SelfAttention::q, &SelfAttention::k, &SelfAttention::v, &SelfAttention::d_output}) {
    std::copy_n((padded.*array).begin() + n * width, n * width, (packed.*array).begin() + shorter * width);
  }
  padded.run(), packed.run();
  for (auto array : {&SelfAttention::output, &SelfAttention::dq, &SelfAttention::dk, &SelfAttention::dv}) {
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(padded.row(padded.*array, n + i), packed.row(packed.*array, shorter + i));
    }
    for (int64_t i = shorter; i < n; ++i) {
      EXPECT_THAT(padded.row(padded.*array, i), testing::Each(SelfAttention::untouched));
    }
  }
}

TEST_P(AttentionContract, NanIsNotHidden) {
  const int64_t n = GetParam();
  for (auto array : {&SelfAttention::q, &SelfAttention::k, &SelfAttention::v}) {
    SelfAttention call(n);
    call.segments = {{0, n, 0, n}};
    (call.*array)[0] = std::numeric_limits<float>::quiet_NaN();
    attention_forward(call.forward_call());
    EXPECT_TRUE(std::isnan(call.output[0]));
  }
}

TEST_P(AttentionContract, LargeScoresStayFinite) {
  const int64_t n = GetParam();
  SelfAttention call(n);
  call.segments = {{0, n, 0, n}};
  call.problem.scale = 1000.0f;  // weights are 0 or 1, exponentials of differences underflow
  call.run();
  for (const auto* array : {&call.output, &call.dq, &call.dk, &call.dv}) {
    EXPECT_TRUE(std::all_of(array->begin(), array->end(), [](float x) { return std::isfinite(x); }));
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, AttentionContract, testing::Values(3, 21, 100));

TEST(Attention, NoSegmentsIsNothingToDo) {
  SelfAttention call(4);
  call.run();
  EXPECT_THAT(call.output, testing::Each(SelfAttention::untouched));
}

struct BadCall {
  std::string name;
  std::function<void(SelfAttention&)> run;
  std::string message;
};

std::ostream& operator<<(std::ostream& out, const BadCall& c) { return out << c.name; }

class AttentionErrors : public testing::TestWithParam<BadCall> {};

TEST_P(AttentionErrors, SaysWhatIsWrong) {
  SelfAttention call(4);
  call.segments = {{0, 4, 0, 4}};
  try {
    GetParam().run(call);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), GetParam().message);
  }
}

template <typename Change>
std::function<void(SelfAttention&)> forward_with(Change change) {
  return [change](SelfAttention& self) {
    AttentionForward call = self.forward_call();
    change(call);
    attention_forward(call);
  };
}

template <typename Change>
std::function<void(SelfAttention&)> backward_with(Change change) {
  return [change](SelfAttention& self) {
    AttentionBackward call = self.backward_call();
    change(call);
    attention_backward(call);
  };
}

INSTANTIATE_TEST_SUITE_P(
    Attention, AttentionErrors,
    testing::Values(BadCall{"kv_heads",
                            forward_with([](auto& call) { call.problem.heads = 8, call.problem.kv_heads = 3; }),
                            "attention: heads 8 is not a multiple of kv_heads 3"},
                    BadCall{"no_heads", forward_with([](auto& call) { call.problem.heads = 0; }),
                            "attention: heads 0 is not a multiple of kv_heads 2"},
                    BadCall{"head_dim", forward_with([](auto& call) { call.problem.head_dim = 0; }),
                            "attention: expected head_dim > 0 and value_dim >= 0, got 0 and 0"},
                    BadCall{"dropout", forward_with([](auto& call) { call.problem.dropout.probability = 1.0f; }),
                            "attention: dropout probability 1 is not in [0, 1)"},
                    BadCall{"dtype", forward_with([](auto& call) { call.v.dtype = DType::bf16; }),
                            "attention: v is bf16, but q is f32; convert one of them"},
                    BadCall{"unsupported_dtype", forward_with([](auto& call) { call.q.dtype = DType::f16; }),
                            "attention: q is f16, expected f32 or bf16"},
                    BadCall{"output_dtype", forward_with([](auto& call) { call.output.dtype = DType::bf16; }),
                            "attention: output is bf16, but q is f32; convert one of them"},
                    BadCall{"backward_dtype", backward_with([](auto& call) { call.dk.dtype = DType::bf16; }),
                            "attention backward: dk is bf16, but q is f32; convert one of them"},
                    BadCall{"backward_without_log_sum_exp",
                            backward_with([](auto& call) { call.log_sum_exp = nullptr; }),
                            "attention backward: needs the log_sum_exp that forward wrote, got null"},
                    BadCall{"negative_length",
                            [](SelfAttention& self) {
                              self.segments = {{0, 1, 0, 1}, {0, -2, 1, 3}};
                              self.run();
                            },
                            "attention: segment 1 has a negative begin or length (queries 0 + -2, keys 1 + 3)"},
                    BadCall{"explicit_without_weights",
                            [](SelfAttention& self) { attention_forward_explicit(self.forward_call(), nullptr); },
                            "attention: the explicit path needs room for the weights, got null"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::kernels
