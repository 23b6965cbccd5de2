#pragma once

#include <cstdint>
#include <span>

#include "weft/tensor/tensor.h"

namespace weft::nn {

// none, sinusoidal and learned: what is added to the embeddings. The others are the attention layers' business: rotary
// turns queries and keys, relative (Shaw et al. 2018), alibi (Press et al. 2022) and buckets (T5; Raffel et al. 2020)
// change their scores.
enum class Positions { none, sinusoidal, learned, rotary, relative, alibi, buckets };

// Sinusoidal encoding (Vaswani et al. 2017), (length, d), f32: column 2i is sin(p / base^(2i/d)), column 2i + 1 the
// cosine.
Tensor sinusoidal_positions(int64_t length, int64_t d, double base = 10000.0);

// i32 position ids for sequences laid end to end: 0, 1, … within each; offsets as in Mask::packed. `first` (optional,
// one per sequence) is where each sequence starts to count.
Tensor packed_position_ids(std::span<const int64_t> offsets, std::span<const int64_t> first = {});

}  // namespace weft::nn
