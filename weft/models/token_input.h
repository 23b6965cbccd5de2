#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weft/nn/kv_cache.h"
#include "weft/ops/mask.h"
#include "weft/tensor/tensor.h"

namespace weft::models {

// Tokens for a model: sequences laid end to end (tokens), or padded (b, s).
struct TokenInput {
  Tensor ids{};           // i32
  Tensor position_ids{};  // i32, same shape; undefined: counted from 0 in every sequence (after the cache, if there is
                          // one)
  Mask mask{};            // which rows form a sequence; the model decides on causality
  Tensor segment_ids{};   // i32, same shape: which segment (sentence A, sentence B) a token of Bert belongs to;
                          // undefined: 0
};

// Sequences laid end to end.
TokenInput packed_input(std::span<const std::span<const int32_t>> sequences);

// What a stack of blocks needs to know of an input.
struct SequenceLayout {
  Mask mask;
  Tensor position_ids;  // i32, shape of the ids
};

// The input's mask with its sequences (a plain (b, s) input is b sequences of s, (tokens) is one) and the positions of
// its tokens. weft::Error, with `model` as its first words, for ids that are not i32 or none at all, and for positions
// outside [0, max_length).
SequenceLayout layout_of(const TokenInput& input, bool causal, int64_t max_length, const nn::KvCache* cache,
                         std::string_view model);
// After a forward pass: every sequence of the mask has its new tokens in the cache.
void advance(nn::KvCache& cache, const Mask& mask);
// The row of the first (last) token of every sequence, i32 (b): what class heads read and decoding goes on from.
// weft::Error for a sequence without tokens.
Tensor first_rows(const Mask& mask);
Tensor last_rows(const Mask& mask);

}  // namespace weft::models
