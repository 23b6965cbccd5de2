#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/kernels/view.h"

namespace weft::kernels {

// A matrix of f32 or bf16 ones on cache lines of its own.
class BenchMatrix {
 public:
  BenchMatrix(int64_t rows, int64_t cols, DType dtype) : dtype_(dtype), rows_(rows), cols_(cols) {
    lines_.resize(static_cast<size_t>(bytes()) / sizeof(Line) + 1);
    if (dtype == DType::f32) {
      std::fill_n(reinterpret_cast<float*>(lines_.data()), rows * cols, 1.0f);
    } else {
      std::fill_n(reinterpret_cast<BFloat16*>(lines_.data()), rows * cols, BFloat16(1.0f));
    }
  }

  MutableMatrix view() { return {lines_.data(), dtype_, rows_, cols_, cols_}; }
  float* floats() { return reinterpret_cast<float*>(lines_.data()); }
  int64_t bytes() const { return rows_ * cols_ * static_cast<int64_t>(size_of(dtype_)); }

 private:
  struct alignas(64) Line {
    uint8_t bytes[64];
  };

  DType dtype_;
  int64_t rows_;
  int64_t cols_;
  std::vector<Line> lines_;
};

// Shapes of the activations of the models that `weft bench train` times: (rows, cols), and 0 for f32 or 1 for bf16.
inline void activation_shapes(benchmark::internal::Benchmark* bench) {
  for (int64_t dtype : {0, 1}) {
    for (auto [rows, cols] : {std::pair<int64_t, int64_t>{8192, 384}, {5120, 256}, {2048, 768}}) {
      bench->Args({rows, cols, dtype});
    }
  }
  bench->ArgNames({"rows", "cols", "bf16"})->UseRealTime()->Unit(benchmark::kMicrosecond);
}

inline DType dtype_argument(const benchmark::State& state) { return state.range(2) == 1 ? DType::bf16 : DType::f32; }

// Bytes that one iteration reads and writes.
inline void report_bytes(benchmark::State& state, int64_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * bytes);
}

}  // namespace weft::kernels
