#include "weft/kernels/norm.h"

#include <benchmark/benchmark.h>

#include "bench/bench_matrix.h"

namespace weft::kernels {
namespace {

// Everything that a norm within a block reads and writes: x (f32), residual, sum (f32) and y; residual and y are f32 or
// bf16, as state.range(2) says.
struct NormBench {
  NormBench(const benchmark::State& state, NormKind kind, float dropout)
      : rows(state.range(0)),
        cols(state.range(1)),
        x(rows, cols, DType::f32),
        residual(rows, cols, dtype_argument(state)),
        sum(rows, cols, DType::f32),
        y(rows, cols, dtype_argument(state)),
        gamma(static_cast<size_t>(cols), 1.0f),
        dgamma(gamma),
        dbeta(gamma),
        mean(static_cast<size_t>(rows), 0.5f),
        rstd(mean) {
    const bool layer = kind == NormKind::layer_norm;
    forward.kind = backward.kind = kind;
    forward.dropout = backward.dropout = {dropout, Rng{1, 2}};
    forward.x = x.view(), forward.residual = residual.view(), forward.sum = sum.view(), forward.y = y.view();
    forward.gamma = backward.gamma = gamma.data();
    forward.beta = layer ? gamma.data() : nullptr;
    forward.mean = mean.data(), forward.rstd = rstd.data();
    backward.mean = mean.data(), backward.rstd = rstd.data();
    backward.s = x.view(), backward.dy = y.view(), backward.dsum = sum.view(), backward.dx = sum.view();
    backward.dresidual = residual.view();
    backward.dgamma = dgamma.data();
    backward.dbeta = layer ? dbeta.data() : nullptr;
  }

  int64_t rows, cols;
  BenchMatrix x, residual, sum, y;
  std::vector<float> gamma, dgamma, dbeta, mean, rstd;
  NormForward forward;
  NormBackward backward;
};

void run_forward(benchmark::State& state, NormKind kind, float dropout) {
  NormBench bench(state, kind, dropout);
  for (auto _ : state) norm_forward(bench.forward);
  report_bytes(state, bench.x.bytes() + bench.residual.bytes() + bench.sum.bytes() + bench.y.bytes());
}

void run_backward(benchmark::State& state, NormKind kind, float dropout) {
  NormBench bench(state, kind, dropout);
  for (auto _ : state) norm_backward(bench.backward);
  report_bytes(state, bench.x.bytes() + bench.y.bytes() + 2 * bench.sum.bytes() + bench.residual.bytes());
}

void layer_norm_plain(benchmark::State& state) {
  NormBench bench(state, NormKind::layer_norm, 0.0f);
  bench.forward.residual = {};
  bench.forward.sum = {};
  for (auto _ : state) norm_forward(bench.forward);
  report_bytes(state, bench.x.bytes() + bench.y.bytes());
}
BENCHMARK(layer_norm_plain)->Apply(activation_shapes);

void layer_norm_residual(benchmark::State& state) { run_forward(state, NormKind::layer_norm, 0.0f); }
BENCHMARK(layer_norm_residual)->Apply(activation_shapes);

void layer_norm_dropout(benchmark::State& state) { run_forward(state, NormKind::layer_norm, 0.1f); }
BENCHMARK(layer_norm_dropout)->Apply(activation_shapes);

void rms_norm_residual(benchmark::State& state) { run_forward(state, NormKind::rms_norm, 0.0f); }
BENCHMARK(rms_norm_residual)->Apply(activation_shapes);

void layer_norm_backward(benchmark::State& state) { run_backward(state, NormKind::layer_norm, 0.0f); }
BENCHMARK(layer_norm_backward)->Apply(activation_shapes);

void layer_norm_backward_dropout(benchmark::State& state) { run_backward(state, NormKind::layer_norm, 0.1f); }
BENCHMARK(layer_norm_backward_dropout)->Apply(activation_shapes);

}  // namespace
}  // namespace weft::kernels
