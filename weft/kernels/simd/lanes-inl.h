// Vectors of f32 lanes from f32 or bf16 memory, once per instruction set. Included by SIMD sources after
// <hwy/foreach_target.h>; everything here lives in the target's own namespace.

#if defined(WEFT_KERNELS_SIMD_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_LANES_INL_H_
#undef WEFT_KERNELS_SIMD_LANES_INL_H_
#else
#define WEFT_KERNELS_SIMD_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "weft/base/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Words = hn::ScalableTag<uint32_t>;
using Halves = hn::Rebind<uint16_t, Floats>;  // as many 16-bit lanes as Floats has lanes
using FloatVec = hn::Vec<Floats>;
using WordVec = hn::Vec<Words>;

HWY_INLINE int64_t lane_count() { return static_cast<int64_t>(hn::Lanes(Floats())); }

// How much of a vector a load or store touches: all lanes, or the first `count` (0 < count < lane_count(), the rest
// read as zero and stay unwritten). Kernels are written once for both, see for_lanes().
struct FullLanes {};
struct SomeLanes {
  int64_t count;
};

// Rounds to the nearest bf16, ties to even, in integers: the same bits as BFloat16(float) on every instruction set. The
// result is in the upper half of each word.
HWY_INLINE WordVec round_to_bf16(FloatVec value) {
  const Words words;
  const WordVec u = hn::BitCast(words, value);
  const WordVec odd = hn::And(hn::ShiftRight<16>(u), hn::Set(words, 1u));
  const WordVec rounded = hn::Add(u, hn::Add(odd, hn::Set(words, 0x7fffu)));
  const WordVec quiet = hn::Or(u, hn::Set(words, 0x400000u));
  return hn::IfThenElse(hn::RebindMask(words, hn::IsNaN(value)), quiet, rounded);
}

HWY_INLINE hn::Vec<Halves> to_bf16(FloatVec value) {
  return hn::TruncateTo(Halves(), hn::ShiftRight<16>(round_to_bf16(value)));
}

HWY_INLINE FloatVec from_bf16(hn::Vec<Halves> bits) {
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(Words(), bits)));
}

HWY_INLINE const uint16_t* raw(const BFloat16* p) { return reinterpret_cast<const uint16_t*>(p); }
HWY_INLINE uint16_t* raw(BFloat16* p) { return reinterpret_cast<uint16_t*>(p); }

// Partial loads and stores never touch memory beyond `count`: by masks where the instruction set suppresses faults,
// else through a buffer.
template <typename D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* p, int64_t count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN T buffer[HWY_LANES(float)] = {};
  for (int64_t i = 0; i < count; ++i) buffer[i] = p[i];
  return hn::LoadU(d, buffer);
#else
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, p);
#endif
}

template <typename D, typename T = hn::TFromD<D>>
HWY_INLINE void store_first(D d, hn::Vec<D> value, T* p, int64_t count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN T buffer[HWY_LANES(float)];
  hn::StoreU(value, d, buffer);
  for (int64_t i = 0; i < count; ++i) p[i] = buffer[i];
#else
  hn::BlendedStore(value, hn::FirstN(d, static_cast<size_t>(count)), d, p);
#endif
}

HWY_INLINE FloatVec load(const float* p, FullLanes = {}) { return hn::LoadU(Floats(), p); }
HWY_INLINE FloatVec load(const float* p, SomeLanes part) { return load_first(Floats(), p, part.count); }
HWY_INLINE FloatVec load(const BFloat16* p, FullLanes = {}) { return from_bf16(hn::LoadU(Halves(), raw(p))); }
HWY_INLINE FloatVec load(const BFloat16* p, SomeLanes part) {
  return from_bf16(load_first(Halves(), raw(p), part.count));
}

HWY_INLINE void store(FloatVec value, float* p, FullLanes = {}) { hn::StoreU(value, Floats(), p); }
HWY_INLINE void store(FloatVec value, float* p, SomeLanes part) { store_first(Floats(), value, p, part.count); }
HWY_INLINE void store(FloatVec value, BFloat16* p, FullLanes = {}) { hn::StoreU(to_bf16(value), Halves(), raw(p)); }
HWY_INLINE void store(FloatVec value, BFloat16* p, SomeLanes part) {
  store_first(Halves(), to_bf16(value), raw(p), part.count);
}

// The lanes of a part as they are, the others replaced by `other`: for reductions other than sums.
HWY_INLINE FloatVec keep_lanes(FloatVec value, FloatVec, FullLanes) { return value; }
HWY_INLINE FloatVec keep_lanes(FloatVec value, FloatVec other, SomeLanes part) {
  return hn::IfThenElse(hn::FirstN(Floats(), static_cast<size_t>(part.count)), value, other);
}

HWY_INLINE float sum_of(FloatVec value) { return hn::GetLane(hn::SumOfLanes(Floats(), value)); }
HWY_INLINE float max_of(FloatVec value) { return hn::GetLane(hn::MaxOfLanes(Floats(), value)); }

// Runs body(i, FullLanes) for each whole vector (four in a row, so that counting does not cost as much as the work) of
// [0, count) and body(i, SomeLanes) for what is left. Bodies are generic lambdas marked HWY_ATTR: [&](int64_t i, auto
// part) HWY_ATTR { store(load(x + i, part), y + i, part); }
template <typename Body>
HWY_INLINE void for_lanes(int64_t count, const Body& body) {
  const int64_t lanes = lane_count();
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    body(i, FullLanes());
    body(i + lanes, FullLanes());
    body(i + 2 * lanes, FullLanes());
    body(i + 3 * lanes, FullLanes());
  }
  for (; i + lanes <= count; i += lanes) body(i, FullLanes());
  if (i < count) body(i, SomeLanes{count - i});
}

// Σ term(i, part) over [0, count): four running vectors, so that additions need not wait for each other. Lanes beyond a
// part count nothing, whatever the term gives there.
template <typename Term>
HWY_INLINE float sum_lanes(int64_t count, const Term& term) {
  const int64_t lanes = lane_count();
  const FloatVec zero = hn::Zero(Floats());
  FloatVec s0 = zero, s1 = zero, s2 = zero, s3 = zero;
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    s0 = hn::Add(s0, term(i, FullLanes()));
    s1 = hn::Add(s1, term(i + lanes, FullLanes()));
    s2 = hn::Add(s2, term(i + 2 * lanes, FullLanes()));
    s3 = hn::Add(s3, term(i + 3 * lanes, FullLanes()));
  }
  for (; i + lanes <= count; i += lanes) s0 = hn::Add(s0, term(i, FullLanes()));
  if (i < count) s1 = hn::Add(s1, keep_lanes(term(i, SomeLanes{count - i}), zero, SomeLanes{count - i}));
  return sum_of(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
}

// Calls body(float()) or body(BFloat16()) according to `dtype`, which the caller has checked to be f32 or bf16:
//   with_element(x.dtype, [&](auto element) HWY_ATTR { using T = decltype(element); … });
template <typename Body>
HWY_INLINE void with_element(DType dtype, const Body& body) {
  if (dtype == DType::bf16) {
    body(BFloat16());
  } else {
    body(float());
  }
}

// The same for two matrices: body(A(), B()).
template <typename Body>
HWY_INLINE void with_elements(DType a, DType b, const Body& body) {
  with_element(a, [&](auto first) HWY_ATTR { with_element(b, [&](auto second) HWY_ATTR { body(first, second); }); });
}

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
