#include "weft/kernels/scored_attention.h"

#include <algorithm>
#include <vector>

#include "weft/base/threads.h"
#include "weft/kernels/portable/scored_attention.h"

namespace weft::kernels {

namespace {

using portable::AttentionHead;
using portable::ScoredHead;
using portable::TermGradients;

using Floats = std::vector<float>;

constexpr int64_t block_queries = 64;

// Rows [begin, begin + count) of one head as dense f32.
void load(const ConstHeads& from, int64_t begin, int64_t count, int64_t head, int64_t e, Floats& into) {
  into.resize(static_cast<size_t>(count * e));
  for (int64_t t = 0; t < count; ++t) {
    const int64_t start = (begin + t) * from.token_stride + head * from.head_stride;
    for (int64_t c = 0; c < e; ++c) {
      into[static_cast<size_t>(t * e + c)] =
          from.dtype == DType::f32 ? static_cast<const float*>(from.data)[start + c]
                                   : static_cast<float>(static_cast<const BFloat16*>(from.data)[start + c]);
    }
  }
}

void store(const Floats& from, int64_t begin, int64_t count, int64_t head, int64_t e, const MutableHeads& into) {
  for (int64_t t = 0; t < count; ++t) {
    const int64_t start = (begin + t) * into.token_stride + head * into.head_stride;
    for (int64_t c = 0; c < e; ++c) {
      const float value = from[static_cast<size_t>(t * e + c)];
      if (into.dtype == DType::f32) {
        static_cast<float*>(into.data)[start + c] = value;
      } else {
        static_cast<BFloat16*>(into.data)[start + c] = BFloat16(value);
      }
    }
  }
}

// The arrays of one block of queries and of its keys; kept from block to block.
struct Scratch {
  Floats q, k, k_transposed, v, v_transposed, soft, weights, output, d_output, dq, dk, dv;
};

// A thread's part of a key/value head: of the segments [first, last) the queries of piece `piece` of `pieces`.
struct Share {
  size_t first = 0;
  size_t last = 0;
  int64_t piece = 0;
  int64_t pieces = 1;

  // The first query of a piece of a segment; that of the piece after the last is where the segment ends.
  static int64_t begin_of(const AttentionSegment& segment, int64_t piece, int64_t pieces) {
    const int64_t blocks = (segment.q_length + block_queries - 1) / block_queries;
    return std::min(segment.q_length, blocks * piece / pieces * block_queries);
  }
};

// Cuts a key/value head into about `wanted` shares: runs of segments, or where they are fewer, pieces of each.
std::vector<Share> shares_of(const AttentionProblem& problem, int64_t wanted) {
  std::vector<Share> shares;
  const auto segments = static_cast<int64_t>(problem.segments.size());
  if (segments == 0) return shares;
  const int64_t blocks = (portable::longest_lengths(problem).q + block_queries - 1) / block_queries;
  const int64_t runs = std::clamp<int64_t>(wanted, 1, segments);
  const int64_t pieces = std::clamp<int64_t>(wanted / segments, 1, std::max<int64_t>(1, blocks));
  for (int64_t run = 0; run < runs; ++run) {
    for (int64_t piece = 0; piece < pieces; ++piece) {
      shares.push_back({static_cast<size_t>(segments * run / runs), static_cast<size_t>(segments * (run + 1) / runs),
                        piece, pieces});
    }
  }
  return shares;
}

// One key/value head of a call and one share of it.
struct Task {
  const ScoredAttention& call;
  int64_t kv_head;
  const Share& share;
};

portable::Terms<float> terms_of(const DistanceTerms& terms) {
  return {terms.relative_keys, terms.relative_values, terms.bucket_bias, terms};
}

void load_keys(const Task& task, const AttentionSegment& segment, Scratch& scratch) {
  const AttentionProblem& problem = task.call.problem;
  load(task.call.k, segment.k_begin, segment.k_length, task.kv_head, problem.head_dim, scratch.k);
  load(task.call.v, segment.k_begin, segment.k_length, task.kv_head, portable::value_dim_of(problem), scratch.v);
  scratch.k_transposed.resize(scratch.k.size());
  portable::transpose(scratch.k.data(), segment.k_length, problem.head_dim, scratch.k_transposed.data());
}

// Calls body(block, its weights in scratch) for every block of queries of every query head that reads the key/value
// head in segment s, whose keys are loaded.
template <typename Body>
void for_each_block(const Task& task, size_t s, const portable::LongestLengths& longest, Scratch& scratch,
                    const Body& body) {
  const ScoredAttention& call = task.call;
  const AttentionSegment& segment = call.problem.segments[s];
  const int64_t group = call.problem.heads / call.problem.kv_heads;
  const int64_t first = Share::begin_of(segment, task.share.piece, task.share.pieces);
  const int64_t last = Share::begin_of(segment, task.share.piece + 1, task.share.pieces);
  for (int64_t h = 0; h < group; ++h) {
    const AttentionHead head{call.problem, longest, static_cast<int64_t>(s), task.kv_head * group + h};
    for (int64_t begin = first; begin < last; begin += block_queries) {
      const int64_t end = std::min(begin + block_queries, last);
      load(call.q, segment.q_begin + begin, end - begin, head.head, call.problem.head_dim, scratch.q);
      scratch.soft.resize(static_cast<size_t>((end - begin) * segment.k_length));
      scratch.weights.resize(scratch.soft.size());
      const ScoredHead<float> block{.head = head,
                                    .begin = begin,
                                    .end = end,
                                    .rule = call.rule,
                                    .terms = terms_of(call.terms),
                                    .additive = call.additive,
                                    .q = scratch.q.data(),
                                    .k = scratch.k.data(),
                                    .k_transposed = scratch.k_transposed.data(),
                                    .v = scratch.v.data(),
                                    .v_transposed = scratch.v_transposed.data()};
      portable::scored_weights(block, scratch.soft.data(), scratch.weights.data());
      body(block);
    }
  }
}

void add(const Floats& from, float* into) {
  if (into == nullptr) return;
  for (size_t i = 0; i < from.size(); ++i) into[i] += from[i];
}

// What one task adds to the gradients: to those of the tables, and where it has only a piece of its segment's queries,
// to dk and dv. They are summed in the order of the tasks, whoever ran them.
struct Part {
  Floats keys, values, bias;  // of the tables
  Floats dk, dv;

  TermGradients<float> tables() {
    const auto pointer = [](Floats& part) { return part.empty() ? nullptr : part.data(); };
    return {pointer(keys), pointer(values), pointer(bias)};
  }
};

Part empty_part(const ScoredAttention& call, const ScoredAttentionGradients& gradients) {
  Part part;
  const auto rows = static_cast<size_t>(2 * call.terms.max_distance + 1);
  if (gradients.relative_keys != nullptr) part.keys.assign(rows * static_cast<size_t>(call.problem.head_dim), 0.0f);
  if (gradients.relative_values != nullptr) {
    part.values.assign(rows * static_cast<size_t>(portable::value_dim_of(call.problem)), 0.0f);
  }
  if (gradients.bucket_bias != nullptr) {
    const int32_t buckets = 1 + *std::max_element(call.terms.bucket_of.begin(), call.terms.bucket_of.end());
    part.bias.assign(static_cast<size_t>(buckets * call.problem.heads), 0.0f);
  }
  return part;
}

void store_keys(const Task& task, size_t s, const Floats& dk, const Floats& dv,
                const ScoredAttentionGradients& gradients) {
  const AttentionProblem& problem = task.call.problem;
  const AttentionSegment& segment = problem.segments[s];
  store(dk, segment.k_begin, segment.k_length, task.kv_head, problem.head_dim, gradients.dk);
  store(dv, segment.k_begin, segment.k_length, task.kv_head, portable::value_dim_of(problem), gradients.dv);
}

void backward_task(const Task& task, const ConstHeads& d_output, const ScoredAttentionGradients& gradients,
                   Part& part) {
  const AttentionProblem& problem = task.call.problem;
  const int64_t e = problem.head_dim, value_dim = portable::value_dim_of(problem);
  const portable::LongestLengths longest = portable::longest_lengths(problem);
  Scratch scratch;
  for (size_t s = task.share.first; s < task.share.last; ++s) {
    const AttentionSegment& segment = problem.segments[s];
    load_keys(task, segment, scratch);
    scratch.v_transposed.resize(scratch.v.size());
    portable::transpose(scratch.v.data(), segment.k_length, value_dim, scratch.v_transposed.data());
    scratch.dk.assign(scratch.k.size(), 0.0f);
    scratch.dv.assign(scratch.v.size(), 0.0f);
    for_each_block(task, s, longest, scratch, [&](const ScoredHead<float>& block) {
      const int64_t row = segment.q_begin + block.begin;
      load(d_output, row, block.queries(), block.head.head, value_dim, scratch.d_output);
      scratch.dq.assign(scratch.q.size(), 0.0f);
      portable::scored_head_backward(block, scratch.soft.data(), scratch.weights.data(), scratch.d_output.data(),
                                     scratch.dq.data(), scratch.dk.data(), scratch.dv.data(), part.tables());
      store(scratch.dq, row, block.queries(), block.head.head, e, gradients.dq);
    });
    if (task.share.pieces == 1) {
      store_keys(task, s, scratch.dk, scratch.dv, gradients);
    } else {
      part.dk = std::move(scratch.dk);
      part.dv = std::move(scratch.dv);
    }
  }
}

}  // namespace

void scored_attention_forward(const ScoredAttention& call, const MutableHeads& output, float* weights) {
  const AttentionProblem& problem = call.problem;
  const int64_t value_dim = portable::value_dim_of(problem);
  const portable::LongestLengths longest = portable::longest_lengths(problem);
  if (weights != nullptr) {
    std::fill_n(weights, static_cast<int64_t>(problem.segments.size()) * problem.heads * longest.q * longest.k, 0.0f);
  }
  const std::vector<Share> shares = shares_of(problem, 2 * thread_count() / problem.kv_heads);
  const auto count = static_cast<int64_t>(shares.size());
  parallel_tasks(problem.kv_heads * count, [&](int64_t index) {
    const Task task{call, index / count, shares[static_cast<size_t>(index % count)]};
    Scratch scratch;
    for (size_t s = task.share.first; s < task.share.last; ++s) {
      const AttentionSegment& segment = problem.segments[s];
      load_keys(task, segment, scratch);
      for_each_block(task, s, longest, scratch, [&](const ScoredHead<float>& block) {
        for (int64_t i = block.begin; i < block.end && weights != nullptr; ++i) {
          const float* row = scratch.weights.data() + (i - block.begin) * segment.k_length;
          std::copy_n(row, segment.k_length, weights + block.head.element(i, 0));
        }
        scratch.output.resize(static_cast<size_t>(block.queries() * value_dim));
        portable::scored_output(block, scratch.weights.data(), scratch.output.data());
        store(scratch.output, segment.q_begin + block.begin, block.queries(), block.head.head, value_dim, output);
      });
    }
  });
}

void scored_attention_backward(const ScoredAttention& call, const ConstHeads& d_output,
                               const ScoredAttentionGradients& gradients) {
  // Enough for any number of cores that is usual, and the same for all.
  constexpr int64_t few_tasks = 16;
  const AttentionProblem& problem = call.problem;
  const std::vector<Share> shares = shares_of(problem, few_tasks / problem.kv_heads);
  const auto count = static_cast<int64_t>(shares.size());
  std::vector<Part> parts(static_cast<size_t>(problem.kv_heads * count));
  const auto task_of = [&](int64_t index) {
    return Task{call, index / count, shares[static_cast<size_t>(index % count)]};
  };
  parallel_tasks(problem.kv_heads * count, [&](int64_t index) {
    Part& part = parts[static_cast<size_t>(index)];
    part = empty_part(call, gradients);
    backward_task(task_of(index), d_output, gradients, part);
  });
  for (const Part& part : parts) {
    add(part.keys, gradients.relative_keys);
    add(part.values, gradients.relative_values);
    add(part.bias, gradients.bucket_bias);
  }
  // A share of pieces has one segment; its pieces follow each other.
  for (int64_t index = 0; index < problem.kv_heads * count; ++index) {
    const Task task = task_of(index);
    if (task.share.pieces == 1 || task.share.piece > 0) continue;
    Part& sum = parts[static_cast<size_t>(index)];
    for (int64_t piece = 1; piece < task.share.pieces; ++piece) {
      const Part& other = parts[static_cast<size_t>(index + piece)];
      add(other.dk, sum.dk.data());
      add(other.dv, sum.dv.data());
    }
    store_keys(task, task.share.first, sum.dk, sum.dv, gradients);
  }
}

}  // namespace weft::kernels
