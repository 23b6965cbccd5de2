#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/kernels/attention.h"

// What the code that divides an attention into tasks shares with the SIMD kernels that do them.
namespace weft::kernels::attention {

// Queries of a block and keys of a tile: a tile of scores, its operands and its result stay in the first-level cache.
constexpr int64_t block_queries = 32;
constexpr int64_t tile_keys = 64;
// Rows that a product computes at once; matrices of keys are padded to a multiple.
constexpr int64_t product_rows = 8;

// Queries and keys of a segment up to which the small kernels take it: all of one head fits the first-level cache.
constexpr int64_t small_length = 32;

// Queries of a segment up to which reading keys and values once per query costs less than packing them for vectors of
// queries.
constexpr int64_t few_queries = 3;

constexpr int64_t round_up(int64_t count, int64_t multiple) { return (count + multiple - 1) / multiple * multiple; }

inline int64_t value_dim_of(const AttentionProblem& problem) {
  return problem.value_dim > 0 ? problem.value_dim : problem.head_dim;
}

// How many keys of the segment query i may see by causality alone: the first ones.
inline int64_t visible_keys(const AttentionProblem& problem, const AttentionSegment& segment, int64_t i) {
  if (!problem.causal) return segment.k_length;
  return std::clamp<int64_t>(i + 1 + segment.k_length - segment.q_length, 0, segment.k_length);
}

// One head of one segment, or a piece of it: queries [begin, end) of a query head in forward, keys [begin, end) of a
// key/value head in backward, counted within the segment.
struct Item {
  int64_t segment;
  int64_t head;
  int64_t begin;
  int64_t end;
};

// How the work of a call is cut into items: segment by segment, in it head by head, in it `pieces` of `piece_length`.
class Division {
 public:
  int64_t heads = 0;  // query heads in forward, key/value heads in backward
  int64_t pieces = 1;
  int64_t piece_length = 0;
  int64_t max_q = 0, max_k = 0;  // longest q_length and k_length
  // Backward in pieces: what each item gives to dq (query heads of the group, max_q, head_dim), to be added up
  // afterwards. Null: an item holds all keys and writes dq itself.
  float* dq_shares = nullptr;

  int64_t items(const AttentionProblem& problem) const {
    return static_cast<int64_t>(problem.segments.size()) * heads * pieces;
  }
  Item query_item(int64_t index, const AttentionProblem& problem) const {
    const Item whole = item(index);
    return clipped(whole, problem.segments[static_cast<size_t>(whole.segment)].q_length);
  }
  Item key_item(int64_t index, const AttentionProblem& problem) const {
    const Item whole = item(index);
    return clipped(whole, problem.segments[static_cast<size_t>(whole.segment)].k_length);
  }

 private:
  Item item(int64_t index) const {
    const int64_t head = index / pieces, begin = index % pieces * piece_length;
    return {head / heads, head % heads, begin, begin + piece_length};
  }
  static Item clipped(const Item& item, int64_t length) {
    return {item.segment, item.head, std::min(item.begin, length), std::min(item.end, length)};
  }
};

// Items [begin, end) of a division, for one thread, in order.
struct Task {
  const Division& division;
  int64_t begin;
  int64_t end;
};

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
