#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/kernels/linear_attention.h"
#include "weft/kernels/simd/attention_task.h"

// What the code that divides a linear attention into tasks shares with the SIMD kernels that do them.
namespace weft::kernels::linear {

using attention::round_up;
using attention::Scratch;
using attention::value_dim_of;

// Tokens of a chunk: longer ones do more work within, shorter ones carry the sums more often; the arrays of a chunk
// should stay in the second-level cache.
constexpr int64_t chunk = 64;
// Rows and columns of a chunk's arrays are padded to a multiple: whole vectors of every instruction set, and whole rows
// of the products.
constexpr int64_t unit = 16;

// Queries and keys of a segment up to which going from token to token costs less than filling chunks; and queries up to
// which weighing each key costs less than adding it to the sums.
constexpr int64_t few_tokens = 4;

// Key/value heads [begin, end) of all segments, number segment · kv_heads + head, for one thread, in order.
struct Task {
  int64_t begin;
  int64_t end;
};

// One key/value head of a segment, and which of its queries meet which keys. Query skipped + t meets key prefix + t as
// the last that it sees under a causal mask; without one, every query sees the prefix, which is then all keys.
struct Head {
  Head(const AttentionProblem& problem, int64_t index)
      : segment_index(index / problem.kv_heads),
        segment(problem.segments[static_cast<size_t>(segment_index)]),
        kv_head(index % problem.kv_heads),
        first_head(kv_head * (problem.heads / problem.kv_heads)),
        end_head(first_head + problem.heads / problem.kv_heads) {
    const int64_t lead = segment.k_length - segment.q_length;
    prefix = problem.causal ? std::max<int64_t>(0, lead) : segment.k_length;
    skipped = problem.causal ? std::max<int64_t>(0, -lead) : 0;
  }

  int64_t segment_index;
  const AttentionSegment& segment;
  int64_t kv_head;
  int64_t first_head, end_head;  // the query heads that read it
  int64_t prefix = 0;            // keys before those that queries meet
  int64_t skipped = 0;           // queries before the first that sees a key
};

// The SIMD kernels, for the best instruction set of the processor. One task each, on the calling thread.
void forward_chunks(const LinearAttentionForward& call, const Task& task);
void forward_tokens(const LinearAttentionForward& call, const Task& task);
void backward_chunks(const LinearAttentionBackward& call, const Task& task);

}  // namespace weft::kernels::linear
