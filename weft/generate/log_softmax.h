#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::generate {

struct TokenLogProb {
  int32_t id = 0;
  double log_prob = 0.0;  // natural logarithm
};

// The `count` most probable ids under softmax(logits), the most probable first, equals by id. Ids of probability 0 (a
// logit of −∞) are left out. weft::Error if no logit is finite or one is NaN or +∞.
std::vector<TokenLogProb> most_probable_tokens(std::span<const float> logits, int64_t count);

}  // namespace weft::generate
