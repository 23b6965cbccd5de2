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

using attention::value_dim_of;

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

attention::Division divide(const AttentionProblem& problem, int64_t heads) {
  const portable::LongestLengths longest = portable::longest_lengths(problem);
  attention::Division division;
  division.heads = heads;
  division.max_q = longest.q;
  division.max_k = longest.k;
  return division;
}

// Every query's result depends on no other's, so forward may be cut by the number of threads.
attention::Division divide_forward(const AttentionProblem& problem) {
  attention::Division division = divide(problem, problem.heads);
  const int64_t heads = std::max<int64_t>(1, division.items(problem));
  const int64_t wanted = thread_count() > 1 ? 4 * thread_count() : 1;
  const int64_t blocks = (division.max_q + attention::block_queries - 1) / attention::block_queries;
  const int64_t pieces = std::clamp<int64_t>((wanted + heads - 1) / heads, 1, std::max<int64_t>(1, blocks / 4));
  division.piece_length = (blocks + pieces - 1) / pieces * attention::block_queries;
  division.pieces = pieces;
  return division;
}

// Backward cuts long keys in pieces when there are few heads to share out. The cut must not depend on the number of
// threads: it decides in which order dq is summed.
attention::Division divide_backward(const AttentionProblem& problem) {
  constexpr int64_t few_heads = 16, shortest_piece = 8 * attention::tile_keys;
  attention::Division division = divide(problem, problem.kv_heads);
  const int64_t heads = std::max<int64_t>(1, division.items(problem));
  division.pieces = std::max<int64_t>(1, std::min(division.max_k / shortest_piece, few_heads / heads));
  division.piece_length =
      attention::round_up((division.max_k + division.pieces - 1) / division.pieces, attention::tile_keys);
  return division;
}

// Runs body(task) for runs of items: long enough to be worth handing out and for an item to prefetch the next one's
// rows, short enough that threads end together.
void run_items(const AttentionProblem& problem, const attention::Division& division,
               FunctionRef<void(const attention::Task&)> body) {
  constexpr int64_t enough_work = 1 << 20;  // multiply-adds
  const int64_t items = division.items(problem);
  const int64_t work = std::max<int64_t>(
      1, division.max_q * division.max_k * (problem.head_dim + value_dim_of(problem)) / division.pieces);
  const int64_t run = std::max({int64_t{1}, items / (16 * thread_count()), std::min(items, enough_work / work)});
  parallel_tasks((items + run - 1) / run, [&](int64_t index) {
    body({division, index * run, std::min((index + 1) * run, items)});
  });
}

bool is_small(const AttentionProblem& problem, const attention::Division& division) {
  return division.max_q <= attention::small_length && division.max_k <= attention::small_length && !problem.allowed;
}

// dq of one query head of a segment: the sum of what the pieces of the keys gave, in order.
template <typename Storage>
void add_shares(const AttentionBackward& call, const attention::Division& division, int64_t segment_index,
                int64_t head) {
  const AttentionProblem& problem = call.problem;
  const AttentionSegment& segment = problem.segments[static_cast<size_t>(segment_index)];
  const int64_t group = problem.heads / problem.kv_heads;
  const int64_t share = group * division.max_q * problem.head_dim;
  const int64_t first = (segment_index * problem.kv_heads + head / group) * division.pieces;
  const float* shares = division.dq_shares + first * share + head % group * division.max_q * problem.head_dim;
  for (int64_t i = 0; i < segment.q_length; ++i) {
    Storage* dq =
        static_cast<Storage*>(call.dq.data) + (segment.q_begin + i) * call.dq.token_stride + head * call.dq.head_stride;
    for (int64_t c = 0; c < problem.head_dim; ++c) {
      float sum = 0.0f;
      for (int64_t piece = 0; piece < division.pieces; ++piece) {
        sum += shares[piece * share + i * problem.head_dim + c];
      }
      dq[c] = static_cast<Storage>(sum);
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
  const auto longest = portable::longest_lengths(call.problem);
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
  const attention::Division division = divide_forward(call.problem);
  const auto kernel = division.max_q <= attention::few_queries ? attention::forward_few_queries
                      : is_small(call.problem, division)       ? attention::forward_small
                                                               : attention::forward_tiled;
  run_items(call.problem, division, [&](const attention::Task& task) { kernel(call, task); });
}

void attention_backward(const AttentionBackward& call) {
  check_backward(call);
  const AttentionProblem& problem = call.problem;
  attention::Division division = divide_backward(problem);
  thread_local std::vector<float> shares;
  if (division.pieces > 1) {
    const int64_t rows =
        static_cast<int64_t>(problem.segments.size()) * problem.heads * division.pieces * division.max_q;
    if (static_cast<int64_t>(shares.size()) < rows * problem.head_dim) {
      shares.resize(static_cast<size_t>(rows * problem.head_dim));
    }
    division.dq_shares = shares.data();
  }
  const bool small = is_small(problem, division) && problem.heads == problem.kv_heads;
  const auto kernel = small ? attention::backward_small : attention::backward_tiled;
  run_items(problem, division, [&](const attention::Task& task) { kernel(call, task); });
  if (division.pieces == 1) return;
  parallel_tasks(static_cast<int64_t>(problem.segments.size()) * problem.heads, [&](int64_t index) {
    if (call.q.dtype == DType::bf16) {
      add_shares<BFloat16>(call, division, index / problem.heads, index % problem.heads);
    } else {
      add_shares<float>(call, division, index / problem.heads, index % problem.heads);
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
