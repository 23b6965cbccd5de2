#pragma once

#include <cmath>
#include <cstdint>

#include "weft/kernels/rotary.h"

namespace weft::kernels::portable {

// Dense x (tokens, heads, head_dim), turned in place; angles in double whatever T.
template <typename T>
void rotary_apply(const Rotary& rotary, const int32_t* position_ids, int64_t tokens, int64_t heads, int64_t head_dim,
                  bool inverse, T* x) {
  const int64_t half = rotary.rotary_dim / 2;
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t h = 0; h < heads; ++h) {
      T* head = x + (t * heads + h) * head_dim;
      for (int64_t i = 0; i < half; ++i) {
        const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(rotary.rotary_dim);
        const double angle = position_ids[t] * std::pow(rotary.base, exponent);
        const T cosine = static_cast<T>(std::cos(angle)), sine = static_cast<T>(std::sin(inverse ? -angle : angle));
        T& a = rotary.layout == RotaryLayout::interleaved ? head[2 * i] : head[i];
        T& b = rotary.layout == RotaryLayout::interleaved ? head[2 * i + 1] : head[half + i];
        const T turned = a * cosine - b * sine;
        b = b * cosine + a * sine;
        a = turned;
      }
    }
  }
}

}  // namespace weft::kernels::portable
