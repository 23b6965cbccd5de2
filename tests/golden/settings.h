#pragma once

#include "tests/golden/golden.h"
#include "weft/kernels/activation.h"
#include "weft/kernels/norm.h"
#include "weft/kernels/rotary.h"
#include "weft/models/transformer_config.h"
#include "weft/ops/mask.h"

namespace weft::golden {

// What a golden's configuration says, as weft's types.
kernels::Activation activation_of(const Golden& golden);
kernels::NormKind norm_of(const Golden& golden);
kernels::Rotary rotary_of(const Golden& golden);
// The model of a layer, model or curve case.
models::TransformerConfig model_config_of(const Golden& golden);
// Causality, lengths and the boolean tensor of an attention case with (b, q, …) queries and (b, k, …) keys.
Mask mask_of(const Golden& golden, int64_t b, int64_t q, int64_t k);
// Which rows of a (b, heads, q, …) result are no padding, u8; undefined if all count.
Tensor counted_rows(const Golden& golden, int64_t heads);

}  // namespace weft::golden
