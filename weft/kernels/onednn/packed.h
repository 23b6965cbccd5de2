#pragma once

#include "weft/kernels/matmul.h"
#include "weft/kernels/onednn/library.h"
#include "weft/kernels/onednn/memory.h"
#include "weft/kernels/onednn/product.h"

namespace weft::kernels {

struct PackedMatrix::Layout {
  int64_t k = 0;
  int64_t n = 0;
  DType dtype = DType::f32;   // what the caller asked for
  DType stored = DType::f32;  // f32 where the processor cannot multiply bf16; the values are rounded to `dtype` still
  dnnl::memory::desc desc;
  onednn::AlignedBuffer buffer;
  dnnl::memory memory;  // over the buffer
};

namespace onednn {

// Writes a (k, n) right operand into memory of the layout packed_layout(k, n, stored).
void pack_operand(const void* b, const OperandLayout& from, int64_t k, int64_t n, DType stored,
                  const dnnl::memory& packed);

}  // namespace onednn

}  // namespace weft::kernels
