#include "weft/generate/log_softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/error.h"
#include "weft/kernels/softmax.h"

namespace weft::generate {

namespace {

struct Entry {
  float logit;
  int32_t id;
  // Whether this one comes before `other`.
  bool operator<(const Entry& other) const { return logit != other.logit ? logit > other.logit : id < other.id; }
};

// log Σ exp(logits). Of the whole softmax, which the vector kernel makes, only the largest weight is needed: that of
// the largest logit, exp(largest − log Σ).
double log_sum_exp(std::span<const float> logits, int32_t largest) {
  thread_local std::vector<float> weights;
  weights.resize(logits.size());
  const auto v = static_cast<int64_t>(logits.size());
  kernels::softmax_forward({logits.data(), DType::f32, 1, v, v}, {weights.data(), DType::f32, 1, v, v});
  const auto place = static_cast<size_t>(largest);
  return static_cast<double>(logits[place]) - std::log(static_cast<double>(weights[place]));
}

}  // namespace

std::vector<TokenLogProb> most_probable_tokens(std::span<const float> logits, int64_t count) {
  require(!logits.empty(), "decoding: there are no logits to choose from");
  const size_t wanted = std::min(logits.size(), static_cast<size_t>(std::max<int64_t>(count, 1)));
  // A heap of the best so far, the worst of them on top: few logits get past the comparison with it.
  std::vector<Entry> best;
  best.reserve(wanted);
  for (size_t id = 0; id < logits.size(); ++id) {
    const Entry entry{logits[id], static_cast<int32_t>(id)};
    if (best.size() < wanted) {
      best.push_back(entry);
      std::ranges::push_heap(best, std::less<>());
    } else if (entry < best.front()) {
      std::ranges::pop_heap(best, std::less<>());
      best.back() = entry;
      std::ranges::push_heap(best, std::less<>());
    }
  }
  std::ranges::sort_heap(best, std::less<>());
  const double total = log_sum_exp(logits, best.front().id);
  require(std::isfinite(total) && std::isfinite(best.front().logit),
          "decoding: the logits hold a NaN or nothing finite; the model's weights are broken");
  std::vector<TokenLogProb> result;
  for (const Entry& entry : best) {
    if (entry.logit == -std::numeric_limits<float>::infinity()) break;
    if (count > 0) result.push_back({entry.id, static_cast<double>(entry.logit) - total});
  }
  return result;
}

}  // namespace weft::generate
