// Activations over whole matrices: bytes read and written per second. `size` counts the table of sizes below,
// `activation` is the number in kernels::Activation.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "weft/kernels/activation.h"

namespace weft::bench {
namespace {

using kernels::Activation;

struct Sizes {
  int64_t rows, cols;
};
constexpr Sizes sizes[] = {{8192, 1536}, {5120, 1024}};

// A matrix with its memory; zeros have the same cost as any other number here.
struct Matrix {
  Matrix(DType dtype, int64_t rows, int64_t cols)
      : bytes(size_of(dtype) * static_cast<size_t>(rows * cols)), view{bytes.data(), dtype, rows, cols, cols} {}
  std::vector<unsigned char> bytes;
  kernels::MutableMatrix view;
};

void forward(benchmark::State& state) {
  const Sizes size = sizes[state.range(0)];
  const DType dtype = state.range(2) ? DType::bf16 : DType::f32;
  Matrix x(dtype, size.rows, size.cols), y(dtype, size.rows, size.cols);
  for (auto _ : state) kernels::activation_forward(static_cast<Activation>(state.range(1)), x.view, y.view);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(2 * x.bytes.size()));
}

void backward(benchmark::State& state) {
  const Sizes size = sizes[state.range(0)];
  const DType dtype = state.range(2) ? DType::bf16 : DType::f32;
  Matrix x(dtype, size.rows, size.cols), dy(dtype, size.rows, size.cols), dx(dtype, size.rows, size.cols);
  for (auto _ : state) kernels::activation_backward(static_cast<Activation>(state.range(1)), x.view, dy.view, dx.view);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(3 * x.bytes.size()));
}

// `cols` is the width of the result, half that of the input.
void gated(benchmark::State& state) {
  const Sizes size = sizes[state.range(0)];
  const DType dtype = state.range(2) ? DType::bf16 : DType::f32;
  Matrix x(dtype, size.rows, 2 * size.cols), dx(dtype, size.rows, 2 * size.cols), y(dtype, size.rows, size.cols);
  for (auto _ : state) {
    kernels::gated_forward(static_cast<Activation>(state.range(1)), x.view, y.view);
    kernels::gated_backward(static_cast<Activation>(state.range(1)), x.view, y.view, dx.view);
  }
  const size_t bytes = 3 * x.bytes.size() + 2 * y.bytes.size();
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

void every_case(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"size", "activation", "bf16"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  for (int64_t size = 0; size < 2; ++size) {
    for (const Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
      for (const int64_t bf16 : {0, 1}) benchmark->Args({size, static_cast<int64_t>(activation), bf16});
    }
  }
}

BENCHMARK(forward)->Name("activation_forward")->Apply(every_case);
BENCHMARK(backward)->Name("activation_backward")->Apply(every_case);
BENCHMARK(gated)->Name("gated_forward_backward")->Apply(every_case);

}  // namespace
}  // namespace weft::bench
