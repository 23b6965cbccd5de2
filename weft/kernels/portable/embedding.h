#pragma once

#include <cstdint>

#include "weft/kernels/dropout.h"
#include "weft/kernels/portable/elementwise.h"

namespace weft::kernels::portable {

// Dense table (vocab_size, d) and y (rows, d); positions may be null. The rest as kernels::embedding_forward.
template <typename T>
struct EmbeddingRows {
  const int32_t* ids = nullptr;
  const int32_t* position_ids = nullptr;
  int64_t rows = 0;
  int64_t d = 0;
  T scale = T(1);
  Dropout dropout;
};

template <typename T>
void embedding_forward(const EmbeddingRows<T>& p, const T* table, const T* positions, T* y) {
  for (int64_t r = 0; r < p.rows; ++r) {
    for (int64_t c = 0; c < p.d; ++c) {
      const int64_t i = r * p.d + c;
      y[i] = p.scale * table[p.ids[r] * p.d + c];
      if (positions) y[i] += positions[p.position_ids[r] * p.d + c];
      y[i] *= dropout_factor<T>(p.dropout, static_cast<uint64_t>(i));
    }
  }
}

template <typename T>
void embedding_backward(const EmbeddingRows<T>& p, const T* dy, T* d_table) {
  for (int64_t r = 0; r < p.rows; ++r) {
    for (int64_t c = 0; c < p.d; ++c) {
      const int64_t i = r * p.d + c;
      d_table[p.ids[r] * p.d + c] += p.scale * dropout_factor<T>(p.dropout, static_cast<uint64_t>(i)) * dy[i];
    }
  }
}

}  // namespace weft::kernels::portable
