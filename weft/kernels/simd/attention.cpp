#include "weft/kernels/attention.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/threads.h"
#include "weft/kernels/portable/attention.h"
#include "weft/kernels/simd/attention_kernels.h"
#include "weft/kernels/simd/attention_task.h"

namespace weft::kernels {

namespace attention {

namespace {

struct AlignedDelete {
  void operator()(float* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
};

}  // namespace

Scratch::Scratch(int64_t floats, int64_t pieces) {
  thread_local std::unique_ptr<float[], AlignedDelete> memory;
  thread_local int64_t capacity = 0;
  const int64_t needed = floats + 16 * pieces;
  if (needed > capacity) {
    memory.reset();
    capacity = 0;
    memory.reset(new (std::align_val_t{64}) float[static_cast<size_t>(needed)]);
    capacity = needed;
  }
  next_ = memory.get();
}

}  // namespace attention

namespace {

using attention::Task;
using attention::value_dim_of;

// Multiply-adds that are worth handing to a thread.
constexpr int64_t task_work = 1 << 19;

void check_problem(const AttentionProblem& problem, std::string_view name) {
  require(problem.heads > 0 && problem.kv_heads > 0 && problem.heads % problem.kv_heads == 0,
          "{}: heads {} is not a multiple of kv_heads {}", name, problem.heads, problem.kv_heads);
  require(problem.head_dim > 0 && problem.value_dim >= 0, "{}: expected head_dim > 0 and value_dim >= 0, got {} and {}",
          name, problem.head_dim, problem.value_dim);
  require(problem.dropout.probability >= 0.0f && problem.dropout.probability < 1.0f,
          "{}: dropout probability {} is not in [0, 1)", name, problem.dropout.probability);
  for (size_t s = 0; s < problem.segments.size(); ++s) {
    const AttentionSegment& segment = problem.segments[s];
    require(segment.q_begin >= 0 && segment.q_length >= 0 && segment.k_begin >= 0 && segment.k_length >= 0,
            "{}: segment {} has a negative begin or length (queries {} + {}, keys {} + {})", name, s, segment.q_begin,
            segment.q_length, segment.k_begin, segment.k_length);
  }
}

void check_dtype(const ConstHeads& q, const ConstHeads& other, std::string_view name, std::string_view operand) {
  require(q.dtype == DType::f32 || q.dtype == DType::bf16, "{}: q is {}, expected f32 or bf16", name, name_of(q.dtype));
  require(other.dtype == q.dtype, "{}: {} is {}, but q is {}; convert one of them", name, operand, name_of(other.dtype),
          name_of(q.dtype));
}

void check_forward(const AttentionForward& call, std::string_view name) {
  check_problem(call.problem, name);
  check_dtype(call.q, call.k, name, "k");
  check_dtype(call.q, call.v, name, "v");
  check_dtype(call.q, call.output, name, "output");
}

void check_backward(const AttentionBackward& call) {
  constexpr std::string_view name = "attention backward";
  check_problem(call.problem, name);
  check_dtype(call.q, call.k, name, "k");
  check_dtype(call.q, call.v, name, "v");
  check_dtype(call.q, call.output, name, "output");
  check_dtype(call.q, call.d_output, name, "d_output");
  check_dtype(call.q, call.dq, name, "dq");
  check_dtype(call.q, call.dk, name, "dk");
  check_dtype(call.q, call.dv, name, "dv");
  require(call.log_sum_exp != nullptr, "{}: needs the log_sum_exp that forward wrote, got null", name);
}

portable::LongestLengths longest_lengths(const AttentionProblem& problem) { return portable::longest_lengths(problem); }

// Tasks of forward. Every query's result depends on no other's, so the division may follow the number of threads.
void plan_forward(const AttentionProblem& problem, std::vector<Task>& tasks) {
  const auto longest = longest_lengths(problem);
  const int64_t wanted = 4 * thread_count();
  const int64_t group = problem.heads / problem.kv_heads;
  const auto segments = static_cast<int64_t>(problem.segments.size());
  tasks.clear();
  for (int64_t s = 0; s < segments; ++s) {
    const AttentionSegment& segment = problem.segments[static_cast<size_t>(s)];
    const int64_t work = segment.q_length * segment.k_length * (problem.head_dim + value_dim_of(problem));
    int64_t heads = segments * problem.kv_heads >= wanted ? group : 1;
    while (2 * heads * work <= task_work && 2 * heads <= problem.heads) heads *= 2;
    const int64_t pieces = std::max<int64_t>(1, wanted * heads / (segments * problem.heads));
    const int64_t queries =
        std::max<int64_t>(4 * attention::block_queries,
                          attention::round_up((segment.q_length + pieces - 1) / pieces, attention::block_queries));
    for (int64_t h = 0; h < problem.heads; h += heads) {
      for (int64_t i = 0; i < segment.q_length; i += queries) {
        tasks.push_back({.segment = s,
                         .head_begin = h,
                         .head_end = std::min(h + heads, problem.heads),
                         .q_begin = i,
                         .q_end = std::min(i + queries, segment.q_length),
                         .k_begin = 0,
                         .k_end = segment.k_length,
                         .max_q = longest.q,
                         .max_k = longest.k});
      }
    }
  }
}

// Backward cuts long keys in pieces when there are few heads to share out. The cut must not depend on the number of
// threads: it decides in which order dq is summed.
constexpr int64_t few_heads = 16;
constexpr int64_t shortest_piece = 8 * attention::tile_keys;

int64_t backward_pieces(const AttentionProblem& problem) {
  const int64_t heads = static_cast<int64_t>(problem.segments.size()) * problem.kv_heads;
  const int64_t pieces = longest_lengths(problem).k / shortest_piece;
  return std::max<int64_t>(1, std::min(pieces, few_heads / std::max<int64_t>(heads, 1)));
}

// Tasks of backward: key/value heads, or pieces of the keys of one, whose shares of dq follow each other in `shares`.
void plan_backward(const AttentionProblem& problem, std::vector<Task>& tasks, std::vector<float>& shares) {
  const auto longest = longest_lengths(problem);
  const int64_t group = problem.heads / problem.kv_heads;
  const int64_t pieces = backward_pieces(problem);
  int64_t shared = 0;
  tasks.clear();
  for (size_t s = 0; s < problem.segments.size(); ++s) {
    const AttentionSegment& segment = problem.segments[s];
    const int64_t work = group * segment.q_length * segment.k_length * (problem.head_dim + value_dim_of(problem));
    int64_t heads = 1;
    while (pieces == 1 && 2 * heads * work <= task_work && 2 * heads <= problem.kv_heads) heads *= 2;
    const int64_t length = attention::round_up((segment.k_length + pieces - 1) / pieces, attention::tile_keys);
    for (int64_t h = 0; h < problem.kv_heads; h += heads) {
      for (int64_t piece = 0; piece < pieces; ++piece) {
        tasks.push_back({.segment = static_cast<int64_t>(s),
                         .head_begin = h,
                         .head_end = std::min(h + heads, problem.kv_heads),
                         .q_begin = 0,
                         .q_end = segment.q_length,
                         .k_begin = std::min(piece * length, segment.k_length),
                         .k_end = std::min((piece + 1) * length, segment.k_length),
                         .max_q = longest.q,
                         .max_k = longest.k});
        shared += pieces > 1 ? group * segment.q_length * problem.head_dim : 0;
      }
    }
  }
  if (pieces == 1) return;
  if (static_cast<int64_t>(shares.size()) < shared) shares.resize(static_cast<size_t>(shared));
  float* next = shares.data();
  for (Task& task : tasks) {
    task.dq_share = next;
    next += group * (task.q_end - task.q_begin) * problem.head_dim;
  }
}

// dq of the head that tasks [first, first + pieces) share: the sum of their shares, in order.
template <typename Storage>
void add_shares(const AttentionBackward& call, std::span<const Task> pieces) {
  const AttentionProblem& problem = call.problem;
  const AttentionSegment& segment = attention::segment_of(problem, pieces[0]);
  const int64_t group = problem.heads / problem.kv_heads;
  for (int64_t h = 0; h < group; ++h) {
    for (int64_t i = 0; i < segment.q_length; ++i) {
      Storage* dq = static_cast<Storage*>(call.dq.data) + (segment.q_begin + i) * call.dq.token_stride +
                    (pieces[0].head_begin * group + h) * call.dq.head_stride;
      const int64_t row = (h * segment.q_length + i) * problem.head_dim;
      for (int64_t c = 0; c < problem.head_dim; ++c) {
        float sum = 0.0f;
        for (const Task& piece : pieces) sum += piece.dq_share[row + c];
        dq[c] = static_cast<Storage>(sum);
      }
    }
  }
}

template <typename Storage>
portable::Heads<const Storage> portable_heads(const ConstHeads& heads) {
  return {static_cast<const Storage*>(heads.data), heads.token_stride, heads.head_stride};
}

template <typename Storage>
void forward_explicit(const AttentionForward& call, float* weights) {
  const portable::AttentionForward<float, Storage> portable_call{
      .problem = call.problem,
      .q = portable_heads<Storage>(call.q),
      .k = portable_heads<Storage>(call.k),
      .v = portable_heads<Storage>(call.v),
      .output = {static_cast<Storage*>(call.output.data), call.output.token_stride, call.output.head_stride},
      .log_sum_exp = call.log_sum_exp,
      .log_sum_exp_stride = call.log_sum_exp_stride,
      .weights = weights};
  const auto longest = longest_lengths(call.problem);
  const int64_t heads = call.problem.heads;
  parallel_tasks(static_cast<int64_t>(call.problem.segments.size()) * heads, [&](int64_t index) {
    const portable::AttentionHead head{call.problem, longest, index / heads, index % heads};
    const int64_t elements = longest.q * longest.k;
    std::fill_n(weights + index * elements, elements, 0.0f);
    portable::attention_head_forward(portable_call, head);
  });
}

}  // namespace

void attention_forward(const AttentionForward& call) {
  check_forward(call, "attention");
  thread_local std::vector<Task> tasks;
  plan_forward(call.problem, tasks);
  const std::vector<Task>& planned = tasks;
  parallel_tasks(static_cast<int64_t>(planned.size()),
                 [&](int64_t index) { attention::forward_tiled(call, planned[static_cast<size_t>(index)]); });
}

void attention_backward(const AttentionBackward& call) {
  check_backward(call);
  thread_local std::vector<Task> tasks;
  thread_local std::vector<float> shares;
  plan_backward(call.problem, tasks, shares);
  const std::span<const Task> planned(tasks);
  parallel_tasks(static_cast<int64_t>(planned.size()),
                 [&](int64_t index) { attention::backward_tiled(call, planned[static_cast<size_t>(index)]); });
  const int64_t pieces = backward_pieces(call.problem);
  if (pieces == 1) return;
  parallel_tasks(static_cast<int64_t>(planned.size()) / pieces, [&](int64_t index) {
    const auto shared = planned.subspan(static_cast<size_t>(index * pieces), static_cast<size_t>(pieces));
    if (call.q.dtype == DType::bf16) {
      add_shares<BFloat16>(call, shared);
    } else {
      add_shares<float>(call, shared);
    }
  });
}

void attention_forward_explicit(const AttentionForward& call, float* weights) {
  check_forward(call, "attention");
  require(weights != nullptr, "attention: the explicit path needs room for the weights, got null");
  if (call.q.dtype == DType::bf16) {
    forward_explicit<BFloat16>(call, weights);
  } else {
    forward_explicit<float>(call, weights);
  }
}

}  // namespace weft::kernels
