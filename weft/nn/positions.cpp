#include "weft/nn/positions.h"

#include <cmath>

#include "weft/base/error.h"

namespace weft::nn {

Tensor sinusoidal_positions(int64_t length, int64_t d, double base) {
  require(length >= 0 && d > 0, "sinusoidal positions: no table of {} rows, {} wide", length, d);
  Tensor table = Tensor::empty({length, d});
  float* values = table.data<float>();
  for (int64_t c = 0; c < d; ++c) {
    const double frequency = std::pow(base, -static_cast<double>(c / 2 * 2) / static_cast<double>(d));
    for (int64_t p = 0; p < length; ++p) {
      const double angle = static_cast<double>(p) * frequency;
      values[p * d + c] = static_cast<float>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

Tensor packed_position_ids(std::span<const int64_t> offsets, std::span<const int64_t> first) {
  require(!offsets.empty(), "position ids: offsets begin with 0, one more than there are sequences");
  require(first.empty() || first.size() + 1 == offsets.size(), "position ids: {} first positions for {} sequences",
          first.size(), offsets.size() - 1);
  Tensor ids = Tensor::empty({offsets.back()}, DType::i32);
  int32_t* out = ids.data<int32_t>();
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const int64_t start = first.empty() ? 0 : first[i];
    for (int64_t t = offsets[i]; t < offsets[i + 1]; ++t) out[t] = static_cast<int32_t>(start + t - offsets[i]);
  }
  return ids;
}

}  // namespace weft::nn
