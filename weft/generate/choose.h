#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/autograd/variable.h"
#include "weft/base/rng.h"

namespace weft::generate {

// The id of the largest logit, the first of equals. weft::Error if there is none that is a number.
int32_t most_probable(std::span<const float> logits);

// The same for every row of logits (…, v).
std::vector<int32_t> most_probable_rows(const Variable& logits);

// An id drawn from softmax(logits) with draw number `index` of the stream: the same for the same logits, whatever was
// drawn before. weft::Error if no logit is finite or one is NaN or +∞.
int32_t draw(std::span<const float> logits, const Rng& rng, uint64_t index);

}  // namespace weft::generate
