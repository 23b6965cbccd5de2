#pragma once

#include <cstdint>

#include "weft/kernels/dropout.h"
#include "weft/kernels/view.h"

namespace weft::kernels {

// The arguments of embedding_forward and embedding_backward, as they reach the code of one instruction set.
struct EmbeddingGather {
  ConstMatrix table;
  const int32_t* ids = nullptr;
  float scale = 1.0f;
  ConstMatrix positions;
  const int32_t* position_ids = nullptr;
  Dropout dropout;
  MutableMatrix y;
};

struct EmbeddingScatter {
  ConstMatrix dy;
  const int32_t* ids = nullptr;
  float scale = 1.0f;
  Dropout dropout;
  MutableMatrix d_table;
};

}  // namespace weft::kernels
