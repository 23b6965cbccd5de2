#include "weft/kernels/elementwise.h"

#include <benchmark/benchmark.h>

#include <cstring>

#include "bench/bench_matrix.h"
#include "weft/base/threads.h"
#include "weft/kernels/adamw.h"
#include "weft/kernels/softmax.h"

namespace weft::kernels {
namespace {

// What memory gives: the bytes/s that the others are compared with. The shapes are those of the activations, so a
// matrix may well stay in third-level cache from one iteration to the next, for this copy as for every kernel.
void copy(benchmark::State& state) {
  BenchMatrix x(state.range(0), state.range(1), dtype_argument(state)),
      y(state.range(0), state.range(1), dtype_argument(state));
  auto* from = static_cast<const uint8_t*>(x.view().data);
  auto* to = static_cast<uint8_t*>(y.view().data);
  for (auto _ : state) {
    parallel_for(x.bytes(), 1, [&](int64_t begin, int64_t end) { std::memcpy(to + begin, from + begin, end - begin); });
    benchmark::ClobberMemory();
  }
  report_bytes(state, 2 * x.bytes());
}
BENCHMARK(copy)->Apply(activation_shapes);

void convert_f32_to_bf16(benchmark::State& state) {
  BenchMatrix x(state.range(0), state.range(1), DType::f32), y(state.range(0), state.range(1), DType::bf16);
  for (auto _ : state) convert(x.view(), y.view());
  report_bytes(state, x.bytes() + y.bytes());
}
BENCHMARK(convert_f32_to_bf16)->Args({8192, 384, 0})->UseRealTime()->Unit(benchmark::kMicrosecond);

void accumulate_rows(benchmark::State& state) {
  BenchMatrix x(state.range(0), state.range(1), dtype_argument(state)), y(state.range(0), state.range(1), DType::f32);
  for (auto _ : state) accumulate(x.view(), y.view(), 0.5f);
  report_bytes(state, x.bytes() + 2 * y.bytes());
}
BENCHMARK(accumulate_rows)->Apply(activation_shapes);

void add_with_dropout(benchmark::State& state) {
  BenchMatrix x(state.range(0), state.range(1), dtype_argument(state)),
      y(state.range(0), state.range(1), dtype_argument(state));
  const Dropout dropout{0.1f, Rng{1, 2}};
  for (auto _ : state) add_dropout(x.view(), y.view(), dropout, x.view());
  report_bytes(state, 3 * x.bytes());
}
BENCHMARK(add_with_dropout)->Apply(activation_shapes);

void column_sums_rows(benchmark::State& state) {
  BenchMatrix x(state.range(0), state.range(1), dtype_argument(state));
  std::vector<float> out(static_cast<size_t>(state.range(1)));
  for (auto _ : state) column_sums(x.view(), out.data(), false);
  report_bytes(state, x.bytes());
}
BENCHMARK(column_sums_rows)->Apply(activation_shapes);

void softmax_forward_rows(benchmark::State& state) {
  BenchMatrix x(state.range(0), state.range(1), dtype_argument(state)),
      y(state.range(0), state.range(1), dtype_argument(state));
  for (auto _ : state) softmax_forward(x.view(), y.view());
  report_bytes(state, 2 * x.bytes());
}
BENCHMARK(softmax_forward_rows)->Apply(activation_shapes);

void sum_of_squares_rows(benchmark::State& state) {
  BenchMatrix x(state.range(0), 1, DType::f32);
  for (auto _ : state) benchmark::DoNotOptimize(sum_of_squares(x.floats(), state.range(0)));
  report_bytes(state, x.bytes());
}
BENCHMARK(sum_of_squares_rows)->Arg(10'000'000)->UseRealTime()->Unit(benchmark::kMicrosecond);

// Large enough that nothing stays in cache: four streams read, three written.
void adamw_rows(benchmark::State& state) {
  const int64_t count = state.range(0);
  BenchMatrix value(count, 1, DType::f32), gradient(count, 1, DType::f32);
  BenchMatrix first(count, 1, DType::f32), second(count, 1, DType::f32);
  const AdamWItem item{value.floats(), gradient.floats(), first.floats(), second.floats(), count, 0.1f};
  AdamWStep step;
  for (auto _ : state) {
    adamw({&item, 1}, step);
    ++step.step;
  }
  report_bytes(state, 7 * value.bytes());
}
BENCHMARK(adamw_rows)->Arg(10'000'000)->UseRealTime()->Unit(benchmark::kMicrosecond);

void copy_beyond_caches(benchmark::State& state) {
  const int64_t count = state.range(0);
  BenchMatrix x(count, 1, DType::f32), y(count, 1, DType::f32);
  for (auto _ : state) {
    parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      std::memcpy(y.floats() + begin, x.floats() + begin, static_cast<size_t>(end - begin) * sizeof(float));
    });
    benchmark::ClobberMemory();
  }
  report_bytes(state, 2 * x.bytes());
}
BENCHMARK(copy_beyond_caches)->Arg(35'000'000)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace weft::kernels
