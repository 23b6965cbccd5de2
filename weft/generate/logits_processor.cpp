#include "weft/generate/logits_processor.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "weft/base/error.h"

namespace weft::generate {

namespace {

constexpr float ruled_out = -std::numeric_limits<float>::infinity();

class Temperature final : public LogitsProcessor {
 public:
  explicit Temperature(double temperature) : factor_(static_cast<float>(1.0 / temperature)) {}
  // Differences to the largest are scaled, so that a tiny temperature overflows to −∞ but never to +∞ or NaN.
  void process(std::span<const int32_t>, std::span<float> logits) const override {
    const float largest = *std::ranges::max_element(logits);
    for (float& logit : logits) logit = logit == largest ? 0.0f : (logit - largest) * factor_;
  }

 private:
  float factor_;
};

class TopK final : public LogitsProcessor {
 public:
  explicit TopK(int64_t k) : k_(static_cast<size_t>(k)) {}
  void process(std::span<const int32_t>, std::span<float> logits) const override {
    if (k_ >= logits.size()) return;
    std::vector<float> sorted(logits.begin(), logits.end());
    const auto kth = sorted.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::ranges::nth_element(sorted, kth, std::greater<>());
    for (float& logit : logits) {
      if (logit < *kth) logit = ruled_out;
    }
  }

 private:
  size_t k_;
};

class TopP final : public LogitsProcessor {
 public:
  explicit TopP(double p) : p_(p) {}
  void process(std::span<const int32_t>, std::span<float> logits) const override {
    std::vector<size_t> order(logits.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](size_t id) { return logits[id]; });
    const double largest = logits[order.front()];
    double total = 0.0;
    for (const float logit : logits) total += std::exp(logit - largest);
    double reached = 0.0;
    for (const size_t id : order) {
      const double probability = std::exp(logits[id] - largest) / total;
      if (reached >= p_) logits[id] = ruled_out;
      reached += probability;
    }
  }

 private:
  double p_;
};

}  // namespace

LogitsProcessors make_processors(const SamplingOptions& options) {
  require(std::isfinite(options.temperature) && options.temperature > 0.0,
          "sampling: temperature is above 0, got {}; for the most probable token every time decode greedily",
          options.temperature);
  require(options.top_k >= 0, "sampling: top_k is 0 (all tokens) or more, got {}", options.top_k);
  require(options.top_p > 0.0 && options.top_p <= 1.0, "sampling: top_p is in (0, 1], got {}", options.top_p);
  LogitsProcessors processors;
  if (options.temperature != 1.0) processors.push_back(std::make_unique<Temperature>(options.temperature));
  if (options.top_k > 0) processors.push_back(std::make_unique<TopK>(options.top_k));
  if (options.top_p < 1.0) processors.push_back(std::make_unique<TopP>(options.top_p));
  return processors;
}

}  // namespace weft::generate
