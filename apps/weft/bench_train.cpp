#include "apps/weft/bench_train.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "weft/kernels/matmul.h"
#include "weft/models/any_model.h"
#include "weft/optim/adamw.h"
#include "weft/train/loss.h"

namespace weft::app {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double peak_resident_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

// Pairs of a query row and a key row of the same sequence, as the rows are laid out.
double pairs_of(const data::TokenRows& queries, const data::TokenRows& keys) {
  double pairs = 0.0;
  for (size_t i = 0; i + 1 < queries.offsets.size(); ++i) {
    pairs +=
        static_cast<double>((queries.offsets[i + 1] - queries.offsets[i]) * (keys.offsets[i + 1] - keys.offsets[i]));
  }
  return pairs;
}

}  // namespace

double flop_per_step(const TrainBenchmark& benchmark) {
  const models::TransformerConfig& config = benchmark.model;
  const data::TokenRows& input = benchmark.batch.input;
  const data::TokenRows& source = benchmark.batch.source;
  const auto d = static_cast<double>(config.d_model);
  const auto q_width = static_cast<double>(config.heads * config.head_dim);
  const auto kv_width = static_cast<double>(config.kv_heads * config.head_dim);
  const double queries = 2 * d * q_width, keys = 2 * d * kv_width;  // numbers: with the output's, with the values'
  const double block = queries + keys + (config.gated ? 3.0 : 2.0) * d * static_cast<double>(config.d_ff);
  const auto rows = static_cast<double>(input.offsets.back());

  const bool two_stacks = config.architecture == models::Architecture::encoder_decoder;
  const auto layers = static_cast<double>(two_stacks ? config.decoder_layers : config.layers);
  double multiplied = (layers * block + d * static_cast<double>(config.vocab_size)) * rows;
  double pairs = layers * pairs_of(input, input);
  if (two_stacks) {
    const auto source_rows = static_cast<double>(source.offsets.back());
    const auto encoder_layers = static_cast<double>(config.layers);
    multiplied += encoder_layers * block * source_rows + layers * (queries * rows + keys * source_rows);
    pairs += encoder_layers * pairs_of(source, source) + layers * pairs_of(input, source);
  }
  multiplied += d * static_cast<double>(config.classes * benchmark.batch.sequences());
  return 6.0 * multiplied + 12.0 * q_width * pairs;
}

TrainTimings time_training(const TrainBenchmark& benchmark, Precision precision, int64_t steps) {
  models::AnyModel model(initialise(1), benchmark.model);
  ParameterStore& parameters = model.parameters();
  optim::AdamW optimizer(parameters, {.weight_decay = 0.01});
  const Rng rng{1, 0};

  Tape tape;
  Gradients gradients;
  std::vector<double> times;
  int64_t system_calls = 0;
  constexpr int64_t warm_up = 2;
  for (int64_t step = 0; step < warm_up + steps; ++step) {
    if (step == warm_up) system_calls = allocator_statistics().system_calls;
    const auto start = Clock::now();
    Context ctx{.tape = &tape, .training = true, .precision = precision, .rng = rng};
    const Variable loss = train::loss_of(ctx, model, benchmark.batch, {});
    gradients.clear();
    tape.backward(loss, gradients);
    optimizer.step(parameters, gradients, {.learning_rate = 1e-4});
    if (step >= warm_up) times.push_back(seconds_since(start) * 1e3);
  }
  std::ranges::sort(times);
  TrainTimings timings;
  timings.min_ms = times.front();
  timings.median_ms = times[times.size() / 2];
  timings.gflop_per_step = flop_per_step(benchmark) * 1e-9;
  timings.peak_memory_mib = peak_resident_mib();
  timings.parameters = parameters.numel();
  timings.system_allocations = allocator_statistics().system_calls - system_calls;
  return timings;
}

double measure_peak_gflops(Precision precision) {
  constexpr int64_t n = 2048;
  const DType dtype = precision == Precision::bf16 ? DType::bf16 : DType::f32;
  const Tensor a = Tensor::full({n, n}, 0.5f, dtype);
  kernels::PackedMatrix b;
  b.pack(matrix_view(a), kernels::Transpose::no, dtype);
  Tensor c = Tensor::empty({n, n}, dtype);
  double best = 0.0;
  for (int i = 0; i < 6; ++i) {
    const auto start = Clock::now();
    kernels::matmul(matrix_view(a), b, matrix_view(c));
    const double gflops = 2.0 * n * n * n / seconds_since(start) * 1e-9;
    if (i > 0) best = std::max(best, gflops);  // the first generates code
  }
  return best;
}

}  // namespace weft::app
