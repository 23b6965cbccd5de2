#include "weft/autograd/initialiser.h"

#include <cmath>

#include "weft/base/error.h"
#include "weft/base/threads.h"

namespace weft {

Initialiser Initialiser::xavier_uniform(int64_t fan_in, int64_t fan_out) {
  return uniform(std::sqrt(6.0 / static_cast<double>(fan_in + fan_out)));
}

Initialiser Initialiser::xavier_normal(int64_t fan_in, int64_t fan_out) {
  return normal(std::sqrt(2.0 / static_cast<double>(fan_in + fan_out)));
}

void Initialiser::fill(Tensor& tensor, const Rng& rng) const {
  float* data = tensor.data<float>();
  require(tensor.is_contiguous(), "initialise: the tensor {} has gaps", tensor.shape());
  const auto factor = static_cast<float>(scale);
  parallel_for(tensor.numel(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto element = static_cast<uint64_t>(i);
      switch (kind) {
        case Kind::constant:
          data[i] = factor;
          break;
        case Kind::normal:
          data[i] = factor * rng.normal(element);
          break;
        case Kind::uniform:
          data[i] = factor * (2.0f * rng.uniform(element) - 1.0f);
          break;
      }
    }
  });
}

}  // namespace weft
