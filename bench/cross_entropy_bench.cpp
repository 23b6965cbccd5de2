// Cross-entropy of a large vocabulary and of single characters: bytes per second, counting logits once and, in
// backward, their gradient once.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "weft/base/rng.h"
#include "weft/kernels/cross_entropy.h"

namespace weft::bench {
namespace {

struct Problem {
  explicit Problem(const benchmark::State& state)
      : rows(state.range(0)),
        v(state.range(1)),
        dtype(state.range(2) ? DType::bf16 : DType::f32),
        logits(size_of(dtype) * static_cast<size_t>(rows * v)),
        gradient(logits.size()),
        targets(static_cast<size_t>(rows)),
        losses(static_cast<size_t>(rows)),
        correct(static_cast<size_t>(rows)) {
    const Rng rng{1, 2};
    for (int64_t i = 0; i < rows * v; ++i) {
      const float value = 3.0f * rng.uniform(static_cast<uint64_t>(i));
      if (dtype == DType::bf16) {
        reinterpret_cast<BFloat16*>(logits.data())[i] = BFloat16(value);
      } else {
        reinterpret_cast<float*>(logits.data())[i] = value;
      }
    }
    for (size_t r = 0; r < targets.size(); ++r)
      targets[r] = static_cast<int32_t>(rng.below(static_cast<uint64_t>(v), r));
  }
  kernels::CrossEntropyRows call() const { return {{logits.data(), dtype, rows, v, v}, targets.data()}; }

  int64_t rows, v;
  DType dtype;
  std::vector<unsigned char> logits, gradient;
  std::vector<int32_t> targets;
  std::vector<float> losses;
  std::vector<uint8_t> correct;
};

void forward(benchmark::State& state) {
  Problem p(state);
  for (auto _ : state) kernels::cross_entropy_forward(p.call(), p.losses.data(), p.correct.data());
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(p.logits.size()));
}

void backward(benchmark::State& state) {
  Problem p(state);
  const kernels::MutableMatrix gradient{p.gradient.data(), p.dtype, p.rows, p.v, p.v};
  for (auto _ : state) kernels::cross_entropy_backward(p.call(), 1.0f, gradient, p.losses.data());
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(2 * p.logits.size()));
}

void every_case(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "v", "bf16"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  for (const int64_t bf16 : {0, 1}) benchmark->Args({512, 50257, bf16})->Args({8192, 65, bf16});
}

BENCHMARK(forward)->Name("cross_entropy_forward")->Apply(every_case);
BENCHMARK(backward)->Name("cross_entropy_backward")->Apply(every_case);

}  // namespace
}  // namespace weft::bench
