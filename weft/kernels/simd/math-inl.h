// Elementary functions on vectors of float, compiled once per instruction set (Highway): include it after
// foreach_target.h, inside or before the including file's own target namespace.
#if defined(WEFT_KERNELS_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_MATH_INL_H_
#undef WEFT_KERNELS_SIMD_MATH_INL_H_
#else
#define WEFT_KERNELS_SIMD_MATH_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// 2·e^r · 2^(n−1) with n = round(x / ln 2) and r = x − n·ln 2 in ±ln(2)/2. Adding `rounder` leaves n + 126, the
// exponent field of 2^(n−1), in the low bits; halving that power and doubling the polynomial keeps n = 128 in range. ln
// 2 is split so that n·high is exact also without fused products. The polynomial is a minimax fit with its first two
// terms fixed. Meaningful only for x in [−87, 88.7228]; NaN stays NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_in_range(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const V rounder = hn::Set(d, 0x1.8p23f + 126.0f);
  const V biased = hn::MulAdd(x, hn::Set(d, 0x1.715476p+0f), rounder);
  const V n = hn::Sub(biased, hn::Set(d, 0x1.8p23f + 126.0f));
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, biased)));
  V r = hn::NegMulAdd(n, hn::Set(d, 0x1.62e4p-1f), x);
  r = hn::NegMulAdd(n, hn::Set(d, 0x1.7f7d1cp-20f), r);
  V p = hn::MulAdd(r, hn::Set(d, 0x1.6a23ccp-9f), hn::Set(d, 0x1.123a2p-6f));
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.5558f2p-4f));
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.555492p-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.fffffcp-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 2.0f));
  p = hn::MulAdd(p, r, hn::Set(d, 2.0f));
  return hn::Mul(p, power);
}

// e^x for x ≤ 0, as softmax needs it: within 1 ulp; 0 below x = −87 (e^x < 1.7e−38) and for −∞; NaN stays NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_nonpositive(D d, V x) {
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0f)), exp_in_range(d, x));
}

// e^x for every x: as exp_nonpositive, and +∞ from the first x whose exponential is above the largest float.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp(D d, V x) {
  const V overflow = hn::Set(d, 0x1.62e42ep+6f);
  return hn::IfThenElse(hn::Gt(x, overflow), hn::Inf(d), exp_nonpositive(d, x));
}

// 1 / (1 + e^−x)
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, exp(d, hn::Neg(x))));
}

// tanh, relative error below 3e−7 everywhere: an odd polynomial near 0, where 1 − 2/(e^2x + 1) would cancel.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V magnitude = hn::Abs(x);
  const V decay = exp_nonpositive(d, hn::Mul(magnitude, hn::Set(d, -2.0f)));
  const V large = hn::CopySign(hn::Div(hn::Sub(one, decay), hn::Add(one, decay)), x);
  const V square = hn::Mul(x, x);
  V p = hn::MulAdd(square, hn::Set(d, -0x1.75de1ep-8f), hn::Set(d, 0x1.5225d4p-6f));
  p = hn::MulAdd(p, square, hn::Set(d, -0x1.b83c3ep-5f));
  p = hn::MulAdd(p, square, hn::Set(d, 0x1.110726p-3f));
  p = hn::MulAdd(p, square, hn::Set(d, -0x1.555532p-2f));
  const V small = hn::MulAdd(hn::Mul(p, square), x, x);
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), small, large);
}

// e^(z²)·erfc(z) for z ≥ 0: Hastings' form (1955), a polynomial in 1/(1 + 0.37 z), here in s = 1 − that, so that the
// error vanishes towards z = 0 and e^(−z²) times this is within 1.3e−7; relative error below 6e−6. The coefficients are
// a minimax fit up to z = 9.4, after which e^(−z²) is 0 in float.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V scaled_erfc(D d, V z) {
  const V one = hn::Set(d, 1.0f);
  const V scaled = hn::Mul(hn::Min(z, hn::Set(d, 9.4f)), hn::Set(d, 0.37f));
  const V s = hn::Div(scaled, hn::Add(scaled, one));
  V p = hn::MulAdd(s, hn::Set(d, -0.06553552806f), hn::Set(d, 0.2678914077f));
  p = hn::MulAdd(p, s, hn::Set(d, -0.3123098931f));
  p = hn::MulAdd(p, s, hn::Set(d, -0.1476583928f));
  p = hn::MulAdd(p, s, hn::Set(d, 0.3479104956f));
  p = hn::MulAdd(p, s, hn::Set(d, 0.9968329927f));
  p = hn::MulAdd(p, s, hn::Set(d, -3.292444825f));
  p = hn::MulAdd(p, s, hn::Set(d, 4.254980553f));
  p = hn::MulAdd(p, s, hn::Set(d, -3.049674529f));
  return hn::MulAdd(p, s, one);
}

// erf, absolute error below 1.3e−7.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf(D d, V x) {
  const V magnitude = hn::Abs(x);
  const V tail = hn::Mul(exp_nonpositive(d, hn::Neg(hn::Mul(x, x))), scaled_erfc(d, magnitude));
  return hn::CopySign(hn::Sub(hn::Set(d, 1.0f), tail), x);
}

// Φ(x), the distribution function of the standard normal, and φ(x), its density. They share their exponential, and the
// lower tail of Φ keeps its relative accuracy, which 1 + erf would lose.
template <class V>
struct Normal {
  V cumulative;
  V density;
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE Normal<V> normal(D d, V x) {
  const V gauss = exp_nonpositive(d, hn::Mul(hn::Mul(x, x), hn::Set(d, -0.5f)));
  const V half_erfcx = hn::Mul(scaled_erfc(d, hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678f))), hn::Set(d, 0.5f));
  const V tail = hn::Mul(gauss, half_erfcx);
  const V upper = hn::Sub(hn::Set(d, 1.0f), tail);
  return {hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, upper), hn::Mul(gauss, hn::Set(d, 0.39894228f))};
}

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#endif
