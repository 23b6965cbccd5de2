#pragma once

#include <cstdint>

#include "weft/kernels/dropout.h"
#include "weft/kernels/view.h"

namespace weft::kernels {

// y[r] = dropout(scale · table[ids[r]] + positions[position_ids[r]]); `positions` (f32) may be absent (data null).
// Every id is checked against the table's rows (weft::Error names the first bad one and its place).
void embedding_forward(ConstMatrix table, const int32_t* ids, float scale, ConstMatrix positions,
                       const int32_t* position_ids, const Dropout& dropout, MutableMatrix y);

// d_table[ids[r]] += scale · dropout(dy[r]): scatter-add in f32 in the order of r, whatever the thread count. Rows of
// d_table that no id names stay as they are. dy is f32 or bf16; the same function serves the position table (scale 1).
void embedding_backward(ConstMatrix dy, const int32_t* ids, float scale, const Dropout& dropout, MutableMatrix d_table);

}  // namespace weft::kernels
