#include "weft/generate/choose.h"

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"

namespace weft::generate {

namespace {

float largest_of(std::span<const float> logits) {
  require(!logits.empty(), "sampling: there are no logits to choose from");
  const bool has_nan = std::ranges::any_of(logits, [](float logit) { return std::isnan(logit); });
  const float largest = *std::ranges::max_element(logits);
  require(!has_nan && std::isfinite(largest), "sampling: the logits hold {}; the model's weights are broken",
          has_nan ? "a NaN" : "nothing finite");
  return largest;
}

}  // namespace

int32_t most_probable(std::span<const float> logits) {
  const float largest = largest_of(logits);
  return static_cast<int32_t>(std::ranges::find(logits, largest) - logits.begin());
}

std::vector<int32_t> most_probable_rows(const Variable& logits) {
  const Tensor values = logits.value().to(DType::f32).contiguous();
  const auto numbers = values.span<float>();
  const auto v = static_cast<size_t>(values.dim(-1));
  std::vector<int32_t> ids;
  for (size_t begin = 0; begin < numbers.size(); begin += v) ids.push_back(most_probable(numbers.subspan(begin, v)));
  return ids;
}

int32_t draw(std::span<const float> logits, const Rng& rng, uint64_t index) {
  const float largest = largest_of(logits);
  double total = 0.0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit) - largest);
  const std::array<uint32_t, 4> words = rng.block(index);
  const uint64_t bits = (uint64_t{words[0]} << 32) | words[1];
  const double target = static_cast<double>(bits >> 11) * 0x1p-53 * total;
  double reached = 0.0;
  int32_t last_possible = 0;
  for (size_t id = 0; id < logits.size(); ++id) {
    const double weight = std::exp(static_cast<double>(logits[id]) - largest);
    if (weight > 0.0) last_possible = static_cast<int32_t>(id);
    reached += weight;
    if (reached > target) return static_cast<int32_t>(id);
  }
  return last_possible;
}

}  // namespace weft::generate
