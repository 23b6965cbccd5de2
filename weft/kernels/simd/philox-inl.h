// Philox4x32-10 (Salmon et al. 2011) over many counters at once: the same words as weft::Rng::bits, and the dropout
// factors made of them. Included after <hwy/foreach_target.h>, like lanes-inl.h.

#if defined(WEFT_KERNELS_SIMD_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_PHILOX_INL_H_
#undef WEFT_KERNELS_SIMD_PHILOX_INL_H_
#else
#define WEFT_KERNELS_SIMD_PHILOX_INL_H_
#endif

#include <array>
#include <cstdint>

#include "weft/base/rng.h"
#include "weft/kernels/dropout.h"
#include "weft/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {

// The words of lane_count() consecutive blocks: 4 · lane_count() words in four vectors.
class PhiloxBatch {
#if HWY_TARGET == HWY_SCALAR
 public:
  explicit PhiloxBatch(const Rng& rng) : rng_(rng) {}

  HWY_INLINE void words(uint64_t block, WordVec& w0, WordVec& w1, WordVec& w2, WordVec& w3) const {
    const std::array<uint32_t, 4> bits = rng_.block(block);
    const Words d;
    w0 = hn::Set(d, bits[0]);
    w1 = hn::Set(d, bits[1]);
    w2 = hn::Set(d, bits[2]);
    w3 = hn::Set(d, bits[3]);
  }
  HWY_INLINE void words(uint64_t block, WordVec& w0, WordVec& w1, WordVec& w2, WordVec& w3, WordVec& w4, WordVec& w5,
                        WordVec& w6, WordVec& w7) const {
    words(block, w0, w1, w2, w3);
    words(block + 1, w4, w5, w6, w7);
  }

 private:
  Rng rng_;
#else
 public:
  explicit PhiloxBatch(const Rng& rng) : stream_(rng.stream) {
    uint32_t k0 = static_cast<uint32_t>(rng.seed), k1 = static_cast<uint32_t>(rng.seed >> 32);
    for (size_t round = 0; round < 10; ++round) {
      keys_[2 * round] = k0;
      keys_[2 * round + 1] = k1;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    // Lane 2i holds block i and lane 2i + 1 block n/2 + i, so that interleaving at the end leaves the words in order.
    const uint64_t half = hn::Lanes(Counters()) / 2;
    for (uint64_t i = 0; i < half; ++i) {
      offsets_[2 * i] = i;
      offsets_[2 * i + 1] = half + i;
    }
  }

  // One block per 64-bit lane, each 32-bit word of the counter in the lower half of the lanes of its own vector. What
  // the upper halves hold does not matter: the multiplication reads lower halves only. Two such sets run side by side
  // to hide the latency of the multiplications.
  HWY_INLINE void words(uint64_t block, WordVec& w0, WordVec& w1, WordVec& w2, WordVec& w3) const {
    const Counters d;
    CounterVec a0 = hn::Add(hn::LoadU(d, offsets_), hn::Set(d, block));
    CounterVec b0 = hn::Add(a0, hn::Set(d, static_cast<uint64_t>(hn::Lanes(d))));
    CounterVec a1 = hn::ShiftRight<32>(a0), b1 = hn::ShiftRight<32>(b0);
    CounterVec a2 = hn::Set(d, stream_), b2 = a2;
    CounterVec a3 = hn::ShiftRight<32>(a2), b3 = a3;
    for (size_t round = 0; round < 10; ++round) {
      const CounterVec k0 = hn::Set(d, keys_[2 * round]);
      const CounterVec k1 = hn::Set(d, keys_[2 * round + 1]);
      turn(k0, k1, a0, a1, a2, a3);
      turn(k0, k1, b0, b1, b2, b3);
    }
    arrange(a0, a1, a2, a3, w0, w1);
    arrange(b0, b1, b2, b3, w2, w3);
  }

  // The same for 2 · lane_count() blocks, four sets side by side: faster still with 32 registers.
  HWY_INLINE void words(uint64_t block, WordVec& w0, WordVec& w1, WordVec& w2, WordVec& w3, WordVec& w4, WordVec& w5,
                        WordVec& w6, WordVec& w7) const {
    const Counters d;
    const CounterVec step = hn::Set(d, static_cast<uint64_t>(hn::Lanes(d)));
    CounterVec a0 = hn::Add(hn::LoadU(d, offsets_), hn::Set(d, block));
    CounterVec b0 = hn::Add(a0, step), e0 = hn::Add(b0, step), f0 = hn::Add(e0, step);
    CounterVec a1 = hn::ShiftRight<32>(a0), b1 = hn::ShiftRight<32>(b0);
    CounterVec e1 = hn::ShiftRight<32>(e0), f1 = hn::ShiftRight<32>(f0);
    CounterVec a2 = hn::Set(d, stream_), b2 = a2, e2 = a2, f2 = a2;
    CounterVec a3 = hn::ShiftRight<32>(a2), b3 = a3, e3 = a3, f3 = a3;
    for (size_t round = 0; round < 10; ++round) {
      const CounterVec k0 = hn::Set(d, keys_[2 * round]);
      const CounterVec k1 = hn::Set(d, keys_[2 * round + 1]);
      turn(k0, k1, a0, a1, a2, a3);
      turn(k0, k1, b0, b1, b2, b3);
      turn(k0, k1, e0, e1, e2, e3);
      turn(k0, k1, f0, f1, f2, f3);
    }
    arrange(a0, a1, a2, a3, w0, w1);
    arrange(b0, b1, b2, b3, w2, w3);
    arrange(e0, e1, e2, e3, w4, w5);
    arrange(f0, f1, f2, f3, w6, w7);
  }

 private:
  using Counters = hn::ScalableTag<uint64_t>;
  using CounterVec = hn::Vec<Counters>;

  static HWY_INLINE void turn(CounterVec k0, CounterVec k1, CounterVec& c0, CounterVec& c1, CounterVec& c2,
                              CounterVec& c3) {
    const Words words;
    const CounterVec p0 = hn::MulEven(hn::BitCast(words, c0), hn::Set(words, 0xD2511F53u));
    const CounterVec p1 = hn::MulEven(hn::BitCast(words, c2), hn::Set(words, 0xCD9E8D57u));
    c0 = hn::Xor3(hn::ShiftRight<32>(p1), c1, k0);
    c1 = p1;
    c2 = hn::Xor3(hn::ShiftRight<32>(p0), c3, k1);
    c3 = p0;
  }

  // Two vectors of words in the order of the blocks.
  static HWY_INLINE void arrange(CounterVec c0, CounterVec c1, CounterVec c2, CounterVec c3, WordVec& lower,
                                 WordVec& upper) {
    const Counters d;
    const Words words;
    const WordVec c01 = hn::OddEven(hn::BitCast(words, hn::ShiftLeft<32>(c1)), hn::BitCast(words, c0));
    const WordVec c23 = hn::OddEven(hn::BitCast(words, hn::ShiftLeft<32>(c3)), hn::BitCast(words, c2));
    const CounterVec low = hn::BitCast(d, c01), high = hn::BitCast(d, c23);
    lower = hn::BitCast(words, hn::InterleaveLower(d, low, high));
    upper = hn::BitCast(words, hn::InterleaveUpper(d, low, high));
  }

  uint64_t stream_;
  uint64_t keys_[20];
  uint64_t offsets_[HWY_LANES(uint64_t)];
#endif
};

// What dropout multiplies elements by: 0 where dropped, 1/(1 − p) where kept.
class DropoutFactors {
 public:
  // weft::Error unless the probability is in [0, 1).
  explicit DropoutFactors(const Dropout& dropout)
      : batch_(dropout.rng),
        threshold_(keep_threshold(dropout.probability)),
        scale_(1.0f / (1.0f - dropout.probability)),
        active_(dropout.probability > 0.0f) {}

  bool active() const { return active_; }
  float scale() const { return scale_; }

  // Floats that `scratch` of factors() must hold for `count` elements: whole batches, and the start of the first block.
  static constexpr int64_t scratch_size(int64_t count) {
    return count + 3 + 4 * static_cast<int64_t>(HWY_LANES(float));
  }

  // Factors of the elements first, first + 1, … first + count − 1, for any first; a place inside `scratch`.
  HWY_NOINLINE const float* factors(uint64_t first, int64_t count, float* scratch) const {
    const int64_t skip = static_cast<int64_t>(first % 4);
    const int64_t lanes = lane_count();
    const FloatVec scale = hn::Set(Floats(), scale_);
    const WordVec threshold = hn::Set(Words(), threshold_);
    const auto write = [=](WordVec word, float* to) HWY_ATTR {
      store(hn::IfThenElseZero(hn::RebindMask(Floats(), hn::Lt(word, threshold)), scale), to);
    };
    const auto write_four = [=](WordVec a, WordVec b, WordVec c, WordVec d, float* to) HWY_ATTR {
      write(a, to);
      write(b, to + lanes);
      write(c, to + 2 * lanes);
      write(d, to + 3 * lanes);
    };
    WordVec w0, w1, w2, w3, w4, w5, w6, w7;
    uint64_t block = first / 4;
    int64_t i = 0;
    for (; i + 8 * lanes <= skip + count; i += 8 * lanes, block += static_cast<uint64_t>(2 * lanes)) {
      batch_.words(block, w0, w1, w2, w3, w4, w5, w6, w7);
      write_four(w0, w1, w2, w3, scratch + i);
      write_four(w4, w5, w6, w7, scratch + i + 4 * lanes);
    }
    for (; i < skip + count; i += 4 * lanes, block += static_cast<uint64_t>(lanes)) {
      batch_.words(block, w0, w1, w2, w3);
      write_four(w0, w1, w2, w3, scratch + i);
    }
    return scratch + skip;
  }

 private:
  PhiloxBatch batch_;
  uint32_t threshold_;
  float scale_;
  bool active_;
};

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
