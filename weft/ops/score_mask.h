#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weft/tensor/tensor.h"

namespace weft::ops {

// A mask as callers of the functional forms give it: (b or 1, h or 1, q or 1, k or 1), boolean (u8 as well), or f32 or
// bf16 numbers that are added to the scores.
struct MaskPart {
  Tensor values;
  bool true_attends = true;  // of a boolean: what true means
};

// The scores (b, h, q, k + appended) that masks are for. Appended keys stand behind the others; no mask speaks of them,
// every query may attend to them.
struct ScoreExtent {
  int64_t b = 1;
  int64_t h = 1;
  int64_t q = 0;
  int64_t k = 0;
  int64_t appended = 0;
};

// All masks of a call in one: `causal` as Mask::causal, and at most one of the two tensors, each (b or 1, h or 1, q,
// k + appended): `allowed` u8, true = may attend; `additive` f32, −∞ = may not.
struct ScoreMask {
  bool causal = false;
  Tensor allowed{};
  Tensor additive{};
};

// Attended to is what every part allows; numbers add up. `causal`: query i sees key j only if j ≤ i, whatever q and k.
// Numbers that are only 0 and −∞ become `allowed`. weft::Error, in the name of `operation`, for shapes and element
// types that do not fit.
ScoreMask combine_masks(std::string_view operation, std::span<const MaskPart> parts, const ScoreExtent& extent,
                        bool causal);

}  // namespace weft::ops
