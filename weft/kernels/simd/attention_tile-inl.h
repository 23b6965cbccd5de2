// A tile of scores, keys × queries: one query per lane, so that maxima and sums over keys never cross lanes. Who sees
// what, dropout, and the exponential. Included after <hwy/foreach_target.h>.

#if defined(WEFT_KERNELS_SIMD_ATTENTION_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_ATTENTION_TILE_INL_H_
#undef WEFT_KERNELS_SIMD_ATTENTION_TILE_INL_H_
#else
#define WEFT_KERNELS_SIMD_ATTENTION_TILE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "weft/kernels/simd/attention_pack-inl.h"
#include "weft/kernels/simd/attention_task.h"
#include "weft/kernels/simd/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {

// What a masked score holds until it becomes weight 0, and the running maximum of a query that has seen nothing.
// Finite: differences of two stay numbers.
constexpr float masked_score = -1e37f;

constexpr float log2_of_e = 1.44269504088896340736f;
constexpr float ln_of_2 = 0.69314718055994530942f;

// 2^x for x ≤ 0 (or hardly above), relative error 2e−7; 0 below x = −126; NaN stays NaN. Adding `rounder` leaves
// round(x) in the low bits; the polynomial is a minimax fit on ±1/2.
HWY_INLINE FloatVec exp2_nonpositive(FloatVec x) {
  const Floats d;
  const hn::RebindToSigned<Floats> integers;
  const FloatVec rounder = hn::Set(d, 0x1.8p23f);
  const FloatVec shifted = hn::Add(x, rounder);
  const FloatVec f = hn::Sub(x, hn::Sub(shifted, rounder));
  FloatVec p = hn::MulAdd(f, hn::Set(d, 0x1.5bba14p-10f), hn::Set(d, 0x1.3cea88p-7f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.c6b752p-5f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.ebf9bcp-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.62e42ap-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(integers, shifted));
  const FloatVec power = hn::BitCast(d, hn::Add(hn::BitCast(integers, p), exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -126.0f)), power);
}

// Queries that are masked and multiplied together: whole vectors, and whole rows of the products that follow.
HWY_INLINE int64_t query_step() { return std::max(lane_count(), attention::product_rows); }

// Up to block_queries queries of a head against up to tile_keys keys. Element (key j, query i) of a tile's arrays is at
// [j · block_queries + i].
struct Tile {
  const AttentionProblem& problem;
  const AttentionSegment& segment;
  const attention::Division& division;
  int64_t segment_index = 0;
  int64_t head = 0;
  int64_t query = 0;    // first query, within the segment
  int64_t queries = 0;  // how many
  int64_t key = 0;      // first key, within the segment
  int64_t keys = 0;     // how many

  int64_t padded_queries() const { return attention::round_up(queries, query_step()); }
  int64_t last_query() const { return query + queries - 1; }

  // How many of the tile's keys, from the first, query `i` of the tile may see by causality.
  int64_t visible(int64_t i) const {
    const int64_t last = std::min(query + i, last_query());
    return std::clamp<int64_t>(attention::visible_keys(problem, segment, last) - key, 0, keys);
  }
  // A multiple of product_rows from which on no query of the step that holds query `i` sees a key.
  int64_t visible_end(int64_t i) const {
    return attention::round_up(visible(i / query_step() * query_step() + query_step() - 1), attention::product_rows);
  }
  // The first query of the tile that may see key j of it, by causality; `queries` or more if none does.
  int64_t first_seeing(int64_t j) const {
    if (!problem.causal) return 0;
    return std::max<int64_t>(0, key + j - (segment.k_length - segment.q_length) - query);
  }
  // The same, rounded down to a step.
  int64_t first_step_seeing(int64_t j) const { return first_seeing(j) / query_step() * query_step(); }
};

// Which keys the queries of one vector (from query i of the tile on) see: those below `all` are seen by each of them;
// `end` is a multiple of product_rows beyond which none is seen by any; between, visible() decides.
class Visibility {
 public:
  Visibility(const Tile& tile, int64_t i, const float* allowed)
      : allowed_(allowed),
        keys_(tile.keys),
        diagonal_(tile.problem.causal ? tile.query + i + 1 + tile.segment.k_length - tile.segment.q_length - tile.key
                                      : tile.keys),
        causal_(tile.problem.causal) {
    all = allowed ? 0 : tile.visible(i);
    end = tile.visible_end(i);
  }

  HWY_INLINE hn::Mask<Floats> visible(int64_t j, int64_t i) const {
    const Floats d;
    const float last_unseeing = j >= keys_ ? 1e9f : causal_ ? static_cast<float>(j - diagonal_) : -1.0f;
    const auto seen = hn::Lt(hn::Set(d, last_unseeing), hn::Iota(d, 0.0f));
    if (!allowed_) return seen;
    return hn::And(seen, hn::Ne(load(allowed_ + j * attention::block_queries + i), hn::Zero(d)));
  }

  int64_t all;
  int64_t end;

 private:
  const float* allowed_;
  int64_t keys_;
  int64_t diagonal_;  // keys that the first query of the vector sees, not clamped
  bool causal_;
};

// allowed[key j, query i] = 1 where the boolean mask of the problem lets i see j, else 0. `rows` holds
// block_queries × tile_keys floats.
inline void fill_allowed(const Tile& tile, float* rows, float* allowed) {
  const AttentionProblem& problem = tile.problem;
  const uint8_t* mask = problem.allowed + tile.segment_index * problem.allowed_segment_stride +
                        tile.head * problem.allowed_head_stride + tile.query * problem.allowed_query_stride + tile.key;
  const hn::Rebind<uint8_t, Floats> bytes;
  const hn::RebindToSigned<Floats> integers;
  const int64_t lanes = lane_count();
  const int64_t keys = attention::round_up(tile.keys, lanes);
  for (int64_t i = 0; i < tile.padded_queries(); ++i) {
    HWY_ALIGN uint8_t row[attention::tile_keys] = {};
    if (i < tile.queries) std::memcpy(row, mask + i * problem.allowed_query_stride, static_cast<size_t>(tile.keys));
    for (int64_t j = 0; j < keys; j += lanes) {
      const auto value = hn::PromoteTo(integers, hn::LoadU(bytes, row + j));
      store(hn::ConvertTo(Floats(), value), rows + i * attention::tile_keys + j);
    }
  }
  transpose({rows, attention::tile_keys}, tile.padded_queries(), keys, 1.0f, allowed, attention::block_queries);
}

// Floats that `scratch` of fill_dropout must hold.
constexpr int64_t dropout_scratch_size() { return HWY_LANES(float) * attention::tile_keys + 8 * HWY_LANES(float) + 64; }

// factors[key j, query i] = what dropout multiplies the weight by.
inline void fill_dropout(const Tile& tile, const DropoutFactors& dropout, float* scratch, float* factors) {
  const int64_t lanes = lane_count();
  const int64_t max_k = tile.division.max_k;
  const int64_t keys = attention::round_up(tile.keys, lanes);
  const uint64_t row_of_head = static_cast<uint64_t>(tile.segment_index * tile.problem.heads + tile.head) *
                               static_cast<uint64_t>(tile.division.max_q);
  for (int64_t i = 0; i < tile.padded_queries(); i += lanes) {
    const uint64_t first = (row_of_head + static_cast<uint64_t>(tile.query + i)) * static_cast<uint64_t>(max_k) +
                           static_cast<uint64_t>(tile.key);
    PackedRows rows{scratch, attention::tile_keys};
    if (max_k <= attention::tile_keys) {  // the rows of several queries are one run
      rows = {dropout.factors(first, lanes * max_k, scratch), max_k};
    } else {
      HWY_ALIGN float row_scratch[DropoutFactors::scratch_size(attention::tile_keys)];
      for (int64_t r = 0; r < lanes; ++r) {
        const float* row = dropout.factors(first + static_cast<uint64_t>(r * max_k), keys, row_scratch);
        std::copy_n(row, keys, scratch + r * attention::tile_keys);
      }
    }
    transpose(rows, lanes, keys, 1.0f, factors + i, attention::block_queries);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
