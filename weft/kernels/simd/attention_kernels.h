#pragma once

#include "weft/kernels/attention.h"
#include "weft/kernels/simd/attention_task.h"

// The SIMD kernels of attention, for the best instruction set of the processor. One task each, on the calling thread.
namespace weft::kernels::attention {

void forward_tiled(const AttentionForward& call, const Task& task);
// Without packing or transposing keys and values: for a few queries of each head, as in decoding.
void forward_few_queries(const AttentionForward& call, const Task& task);
void backward_tiled(const AttentionBackward& call, const Task& task);

// For at most small_length queries and keys per segment and no boolean mask; backward also needs heads = kv_heads.
void forward_small(const AttentionForward& call, const Task& task);
void backward_small(const AttentionBackward& call, const Task& task);

}  // namespace weft::kernels::attention
