#include "weft/base/rng.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "weft/base/error.h"

namespace weft {

namespace {

// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection that spreads every input bit.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace

Rng Rng::split(uint64_t site) const {
  constexpr uint64_t golden = 0x9e3779b97f4a7c15ull;
  return {seed, mix(mix(stream + golden) + site * golden + 1)};
}

std::array<uint32_t, 4> Rng::block(uint64_t index) const {
  uint32_t c0 = static_cast<uint32_t>(index), c1 = static_cast<uint32_t>(index >> 32);
  uint32_t c2 = static_cast<uint32_t>(stream), c3 = static_cast<uint32_t>(stream >> 32);
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

float Rng::uniform(uint64_t index) const { return static_cast<float>(bits(index) >> 8) * 0x1p-24f; }

float Rng::normal(uint64_t index) const {
  const std::array<uint32_t, 4> words = block(index / 2);
  const size_t pair = 2 * (index % 2);
  const double radius = (static_cast<double>(words[pair]) + 1.0) * 0x1p-32;  // (0, 1]: the logarithm is finite
  const double angle = static_cast<double>(words[pair + 1]) * 0x1p-32;
  return static_cast<float>(std::sqrt(-2.0 * std::log(radius)) * std::cos(2.0 * std::numbers::pi * angle));
}

bool Rng::bernoulli(double probability, uint64_t index) const {
  require(probability >= 0.0 && probability <= 1.0, "rng: probability {} is not in [0, 1]", probability);
  return static_cast<double>(bits(index)) < probability * 0x1p32;
}

uint64_t Rng::below(uint64_t bound, uint64_t index) const {
  require(bound > 0, "rng: below(0) has no value to draw");
  const std::array<uint32_t, 4> words = block(index);
  const uint64_t word = (uint64_t{words[0]} << 32) | words[1];
  return static_cast<uint64_t>((static_cast<unsigned __int128>(word) * bound) >> 64);
}

std::vector<int64_t> Rng::permutation(int64_t count) const {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (uint64_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(i, i)]);
  return order;
}

uint32_t keep_threshold(double drop_probability) {
  require(drop_probability >= 0.0 && drop_probability < 1.0, "dropout: probability {} is not in [0, 1)",
          drop_probability);
  const double threshold = std::round((1.0 - drop_probability) * 0x1p32);
  return threshold >= 0x1p32 ? 0xffffffffu : static_cast<uint32_t>(threshold);
}

}  // namespace weft
