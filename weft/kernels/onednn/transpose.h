#pragma once

#include <cstdint>

#include "weft/kernels/view.h"

namespace weft::kernels::onednn {

// to (cols, rows) = fromᵀ, element (c, r) at to[c · to_stride + r]; f32 or bf16, bit for bit.
void transpose(const ConstMatrix& from, void* to, int64_t to_stride);

}  // namespace weft::kernels::onednn
