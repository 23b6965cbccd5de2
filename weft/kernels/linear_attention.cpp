#include "weft/kernels/linear_attention.h"

#include <algorithm>
#include <string_view>

#include "weft/base/error.h"
#include "weft/base/threads.h"
#include "weft/kernels/portable/masked_linear_attention.h"
#include "weft/kernels/simd/linear_attention_task.h"

namespace weft::kernels {

namespace {

void check_dtype(const ConstHeads& q, const ConstHeads& other, std::string_view operand) {
  require(q.dtype == DType::f32 || q.dtype == DType::bf16, "linear attention: q is {}, expected f32 or bf16",
          name_of(q.dtype));
  require(other.dtype == q.dtype, "linear attention: {} is {}, but q is {}; convert one of them", operand,
          name_of(other.dtype), name_of(q.dtype));
}

void check(const LinearAttention& call) {
  const AttentionProblem& problem = call.problem;
  require(problem.heads > 0 && problem.kv_heads > 0 && problem.heads % problem.kv_heads == 0,
          "linear attention: heads {} is not a multiple of kv_heads {}", problem.heads, problem.kv_heads);
  require(problem.head_dim > 0 && problem.value_dim >= 0,
          "linear attention: expected head_dim > 0 and value_dim >= 0, got {} and {}", problem.head_dim,
          problem.value_dim);
  require(problem.dropout.probability == 0.0f, "linear attention: it has no weights that dropout could change");
  require(problem.allowed == nullptr || call.states.empty(),
          "linear attention: a state holds no keys that a boolean mask could hide");
  for (size_t s = 0; s < problem.segments.size(); ++s) {
    const AttentionSegment& segment = problem.segments[s];
    require(segment.q_begin >= 0 && segment.q_length >= 0 && segment.k_begin >= 0 && segment.k_length >= 0,
            "linear attention: segment {} has a negative begin or length (queries {} + {}, keys {} + {})", s,
            segment.q_begin, segment.q_length, segment.k_begin, segment.k_length);
    require(call.states.empty() || !problem.causal || segment.q_length == segment.k_length,
            "linear attention: with a state segment {} has one new key per query, got {} keys and {} queries", s,
            segment.k_length, segment.q_length);
  }
  require(call.states.empty() || call.states.size() == problem.segments.size(),
          "linear attention: {} states for {} segments", call.states.size(), problem.segments.size());
  check_dtype(call.q, call.k, "k");
  check_dtype(call.q, call.v, "v");
}

// Runs body(task) for runs of key/value heads, each long enough to be worth handing out.
void run_heads(const AttentionProblem& problem, const portable::LongestLengths& longest,
               FunctionRef<void(const linear::Task&)> body) {
  constexpr int64_t enough_work = 1 << 18;  // multiply-adds
  const int64_t items = static_cast<int64_t>(problem.segments.size()) * problem.kv_heads;
  const int64_t work =
      (longest.q * (problem.heads / problem.kv_heads) + longest.k) * problem.head_dim * linear::value_dim_of(problem);
  const int64_t run = std::clamp<int64_t>(enough_work / std::max<int64_t>(1, work), 1, std::max<int64_t>(1, items));
  parallel_tasks((items + run - 1) / run, [&](int64_t index) {
    body({index * run, std::min((index + 1) * run, items)});
  });
}

template <typename Storage>
portable::Heads<const Storage> view(const ConstHeads& heads) {
  return {static_cast<const Storage*>(heads.data), heads.token_stride, heads.head_stride};
}
template <typename Storage>
portable::Heads<Storage> view(const MutableHeads& heads) {
  return {static_cast<Storage*>(heads.data), heads.token_stride, heads.head_stride};
}

template <typename Storage>
void forward_masked(const LinearAttentionForward& call) {
  const AttentionProblem& problem = call.attention.problem;
  const portable::LinearAttentionForward<float, Storage> masked{.problem = problem,
                                                                .q = view<Storage>(call.attention.q),
                                                                .k = view<Storage>(call.attention.k),
                                                                .v = view<Storage>(call.attention.v),
                                                                .output = view<Storage>(call.output),
                                                                .denominators = call.denominators,
                                                                .denominator_stride = call.denominator_stride};
  const portable::LongestLengths longest = portable::longest_lengths(problem);
  parallel_tasks(static_cast<int64_t>(problem.segments.size()) * problem.kv_heads, [&](int64_t index) {
    portable::masked_linear_attention_forward(masked, longest, index / problem.kv_heads, index % problem.kv_heads);
  });
}

template <typename Storage>
void backward_masked(const LinearAttentionBackward& call) {
  const AttentionProblem& problem = call.attention.problem;
  const portable::LinearAttentionBackward<float, Storage> masked{.problem = problem,
                                                                 .q = view<Storage>(call.attention.q),
                                                                 .k = view<Storage>(call.attention.k),
                                                                 .v = view<Storage>(call.attention.v),
                                                                 .output = view<Storage>(call.output),
                                                                 .d_output = view<Storage>(call.d_output),
                                                                 .denominators = call.denominators,
                                                                 .denominator_stride = call.denominator_stride,
                                                                 .dq = view<Storage>(call.dq),
                                                                 .dk = view<Storage>(call.dk),
                                                                 .dv = view<Storage>(call.dv)};
  const portable::LongestLengths longest = portable::longest_lengths(problem);
  parallel_tasks(static_cast<int64_t>(problem.segments.size()) * problem.kv_heads, [&](int64_t index) {
    portable::MaskedLinearBackward(masked, longest, index / problem.kv_heads, index % problem.kv_heads).run();
  });
}

template <typename Storage>
void write_weights(const LinearAttention& call, float* weights) {
  const AttentionProblem& problem = call.problem;
  const portable::LongestLengths longest = portable::longest_lengths(problem);
  parallel_tasks(static_cast<int64_t>(problem.segments.size()) * problem.heads, [&](int64_t index) {
    const portable::AttentionHead head{problem, longest, index / problem.heads, index % problem.heads};
    std::fill_n(weights + index * longest.q * longest.k, longest.q * longest.k, 0.0f);
    for (int64_t i = 0; i < head.segment().q_length; ++i) {
      portable::linear_attention_weights(head, view<Storage>(call.q), view<Storage>(call.k), i,
                                         weights + head.element(i, 0));
    }
  });
}

}  // namespace

int64_t linear_state_size(int64_t kv_heads, int64_t head_dim, int64_t value_dim) {
  return kv_heads * head_dim * (value_dim + 1);
}

void linear_attention_forward(const LinearAttentionForward& call) {
  check(call.attention);
  check_dtype(call.attention.q, call.output, "output");
  const AttentionProblem& problem = call.attention.problem;
  if (problem.allowed != nullptr) {
    return call.output.dtype == DType::bf16 ? forward_masked<BFloat16>(call) : forward_masked<float>(call);
  }
  const portable::LongestLengths longest = portable::longest_lengths(problem);
  const bool keys_are_weighed = !problem.causal && call.attention.states.empty();
  const bool few = longest.q <= linear::few_tokens && (keys_are_weighed || longest.k <= linear::few_tokens);
  const auto kernel = few ? linear::forward_tokens : linear::forward_chunks;
  run_heads(problem, longest, [&](const linear::Task& task) { kernel(call, task); });
}

void linear_attention_backward(const LinearAttentionBackward& call) {
  check(call.attention);
  check_dtype(call.attention.q, call.output, "output");
  check_dtype(call.attention.q, call.d_output, "d_output");
  check_dtype(call.attention.q, call.dq, "dq");
  check_dtype(call.attention.q, call.dk, "dk");
  check_dtype(call.attention.q, call.dv, "dv");
  require(call.attention.states.empty(), "linear attention: there is no gradient through the states of decoding");
  require(call.denominators != nullptr, "linear attention: backward needs the denominators that forward wrote");
  const AttentionProblem& problem = call.attention.problem;
  if (problem.allowed != nullptr) {
    return call.output.dtype == DType::bf16 ? backward_masked<BFloat16>(call) : backward_masked<float>(call);
  }
  run_heads(problem, portable::longest_lengths(problem),
            [&](const linear::Task& task) { linear::backward_chunks(call, task); });
}

void linear_attention_weights(const LinearAttention& call, float* weights) {
  check(call);
  require(call.states.empty(), "linear attention: a state holds no keys whose weights could be shown");
  require(weights != nullptr, "linear attention: no room for the weights, got null");
  if (call.q.dtype == DType::bf16) {
    write_weights<BFloat16>(call, weights);
  } else {
    write_weights<float>(call, weights);
  }
}

}  // namespace weft::kernels
