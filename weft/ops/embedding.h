#pragma once

#include "weft/autograd/context.h"

namespace weft::ops {

struct EmbeddingOptions {
  float scale = 1.0f;    // of the token vectors, before the positions are added
  double dropout = 0.0;  // after the sum, while training
};

// y = dropout(scale · table[ids] + positions[position_ids]), f32.
//   table (v, d), ids i32 (…), positions (max_length, d) or undefined, position_ids i32 of the ids' shape → (…, d)
// The gradient scatters into the rows that were read. An id outside the table is an error that names it.
Variable embedding(Context& ctx, const Variable& table, const Tensor& ids, const Variable& positions,
                   const Tensor& position_ids, const EmbeddingOptions& options = {});

// Rows of x (n, d) by index, i32 (m) → (m, d): the last token of each sequence, the class token.
Variable select_rows(Context& ctx, const Variable& x, const Tensor& rows);

}  // namespace weft::ops
