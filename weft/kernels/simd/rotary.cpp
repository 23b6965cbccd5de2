#include "weft/kernels/rotary.h"

#include <vector>

#include "weft/base/threads.h"
#include "weft/kernels/simd/matrix.h"
#include "weft/kernels/simd/rotary_angles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/rotary.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

// `angles` is a row of RotaryAngles; `sign` −1 turns back.
template <typename T>
HWY_INLINE void turn_half_split(const float* angles, int64_t rotary_dim, float sign, T* head) {
  const int64_t half = rotary_dim / 2;
  const FloatVec signs = hn::Set(Floats(), sign);
  for_lanes(half, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVec cosine = load(angles + i, part), sine = hn::Mul(load(angles + half + i, part), signs);
    const FloatVec a = load(head + i, part), b = load(head + half + i, part);
    store(hn::NegMulAdd(b, sine, hn::Mul(a, cosine)), head + i, part);
    store(hn::MulAdd(a, sine, hn::Mul(b, cosine)), head + half + i, part);
  });
}

template <typename T>
HWY_INLINE void turn_interleaved(const float* angles, int64_t rotary_dim, float sign, T* head) {
  const float* sines = angles + rotary_dim;
#if HWY_TARGET == HWY_SCALAR
  for (int64_t i = 0; i < rotary_dim; i += 2) {
    const float a = head[i], b = head[i + 1];
    head[i] = T(a * angles[i] + b * sines[i] * sign);
    head[i + 1] = T(b * angles[i + 1] + a * sines[i + 1] * sign);
  }
#else
  const FloatVec signs = hn::Set(Floats(), sign);
  for_lanes(rotary_dim, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVec cosine = load(angles + i, part), sine = hn::Mul(load(sines + i, part), signs);
    const FloatVec x = load(head + i, part);
    store(hn::MulAdd(hn::Shuffle2301(x), sine, hn::Mul(x, cosine)), head + i, part);
  });
#endif
}

template <typename T>
void turn_token(const Rotary& rotary, const float* angles, int64_t heads, float sign, int64_t head_stride, T* token) {
  for (int64_t h = 0; h < heads; ++h) {
    if (rotary.layout == RotaryLayout::half_split) {
      turn_half_split(angles, rotary.rotary_dim, sign, token + h * head_stride);
    } else {
      turn_interleaved(angles, rotary.rotary_dim, sign, token + h * head_stride);
    }
  }
}

void turn(const Rotary& rotary, const float* angles, int64_t token, int64_t heads, float sign, const MutableHeads& x) {
  with_element(x.dtype, [&](auto element) {
    using T = decltype(element);
    turn_token(rotary, angles, heads, sign, x.head_stride, static_cast<T*>(x.data) + token * x.token_stride);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(turn);

namespace {

void check_rotary(const Rotary& rotary, const int32_t* position_ids, int64_t tokens, int64_t heads,
                  const MutableHeads& x) {
  require(rotary.rotary_dim >= 0 && rotary.rotary_dim % 2 == 0, "rotary_apply: expected an even rotary_dim, got {}",
          rotary.rotary_dim);
  require(rotary.base > 0.0, "rotary_apply: expected a positive base, got {}", rotary.base);
  require(x.dtype == DType::f32 || x.dtype == DType::bf16, "rotary_apply: x must be f32 or bf16, got {}",
          name_of(x.dtype));
  require(tokens >= 0 && heads >= 0, "rotary_apply: negative size: {} tokens, {} heads", tokens, heads);
  require(heads <= 1 || x.head_stride >= rotary.rotary_dim,
          "rotary_apply: heads that lie {} elements apart overlap in rotary_dim {}", x.head_stride, rotary.rotary_dim);
  for (int64_t t = 0; t < tokens; ++t) {
    require(position_ids[t] >= 0, "rotary_apply: position {} of token {} is negative", position_ids[t], t);
  }
}

}  // namespace

void rotary_apply(const Rotary& rotary, const int32_t* position_ids, int64_t tokens, int64_t heads, bool inverse,
                  MutableHeads x) {
  check_rotary(rotary, position_ids, tokens, heads, x);
  if (rotary.rotary_dim == 0 || tokens == 0) return;
  const std::shared_ptr<RotaryAngles> angles = rotary_angles(rotary);
  thread_local std::vector<const float*> kept_rows;  // its memory serves the next call
  std::vector<const float*>& rows = kept_rows;       // the caller's, whichever thread turns a token
  rows.clear();
  angles->find(position_ids, tokens, rows);
  const float sign = inverse ? -1.0f : 1.0f;
  parallel_for(tokens, row_grain(16384, heads * rotary.rotary_dim), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      HWY_DYNAMIC_DISPATCH(turn)(rotary, rows[static_cast<size_t>(t)], t, heads, sign, x);
  });
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
