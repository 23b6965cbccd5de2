#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/kernels/attention.h"

// What the code that divides an attention into tasks shares with the SIMD kernels that do them.
namespace weft::kernels::attention {

// Heads [head_begin, head_end) of one segment, of them queries [q_begin, q_end) against keys [k_begin, k_end), counted
// within the segment. Forward counts query heads and takes every key; backward counts key/value heads and takes every
// query. `max_q` and `max_k` number the elements of dropout.
struct Task {
  int64_t segment = 0;
  int64_t head_begin = 0, head_end = 0;
  int64_t q_begin = 0, q_end = 0;
  int64_t k_begin = 0, k_end = 0;
  int64_t max_q = 0, max_k = 0;
  // Backward over a part of the keys: where its share of dq (query heads of the task, queries, head_dim) goes, to be
  // added up afterwards. Null: all keys are in this task, and dq is written.
  float* dq_share = nullptr;
};

// Queries of a block and keys of a tile: a tile of scores, its operands and its result stay in the first-level cache.
constexpr int64_t block_queries = 32;
constexpr int64_t tile_keys = 64;
// Rows that a product computes at once; matrices of keys are padded to a multiple.
constexpr int64_t product_rows = 8;

constexpr int64_t round_up(int64_t count, int64_t multiple) { return (count + multiple - 1) / multiple * multiple; }

inline int64_t value_dim_of(const AttentionProblem& problem) {
  return problem.value_dim > 0 ? problem.value_dim : problem.head_dim;
}

inline const AttentionSegment& segment_of(const AttentionProblem& problem, const Task& task) {
  return problem.segments[static_cast<size_t>(task.segment)];
}

// How many keys of the segment query i may see by causality alone: the first ones.
inline int64_t visible_keys(const AttentionProblem& problem, const AttentionSegment& segment, int64_t i) {
  if (!problem.causal) return segment.k_length;
  return std::clamp<int64_t>(i + 1 + segment.k_length - segment.q_length, 0, segment.k_length);
}

// Working memory of the calling thread, 64-byte aligned, kept for the next call.
class Scratch {
 public:
  // Makes room for `floats` in `pieces` pieces. What was taken before is void.
  Scratch(int64_t floats, int64_t pieces);
  float* take(int64_t floats) {
    float* piece = next_;
    next_ += round_up(floats, 16);
    return piece;
  }

 private:
  float* next_;
};

}  // namespace weft::kernels::attention
