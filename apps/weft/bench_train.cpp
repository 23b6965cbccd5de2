#include "apps/weft/bench_train.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "weft/base/error.h"
#include "weft/kernels/matmul.h"
#include "weft/models/causal_lm.h"
#include "weft/optim/adamw.h"

namespace weft::app {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Tensor random_ids(int64_t count, int64_t bound, const Rng& rng) {
  Tensor ids = Tensor::empty({count}, DType::i32);
  for (int64_t i = 0; i < count; ++i) {
    ids.data<int32_t>()[i] = static_cast<int32_t>(rng.below(static_cast<uint64_t>(bound), static_cast<uint64_t>(i)));
  }
  return ids;
}

double peak_resident_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

}  // namespace

TrainBenchmark benchmark_preset(const std::string& name) {
  TrainBenchmark result;
  models::TransformerConfig& model = result.model;
  model.attention_bias = model.feed_forward_bias = true;
  if (name == "count") {
    model.vocab_size = 103;
    model.d_model = 256;
    model.d_ff = 1024;
    model.activation = kernels::Activation::relu;
    model.feed_forward_bias = false;
    model.wiring = nn::Wiring::block_input;
    model.final_norm = false;
    model.positions = nn::Positions::sinusoidal;
    model.tie_embeddings = false;
    model.output_bias = true;
    model.initialisation = nn::Initialisation::xavier_uniform;
    result.batch = 320;
    result.context = 16;
  } else if (name == "char-gpt") {
    model.vocab_size = 65;
    model.d_model = 384;
    model.heads = 6;
    result.batch = 32;
    result.context = 256;
  } else if (name == "gpt2-124m") {
    model.vocab_size = 50257;
    model.d_model = 768;
    model.layers = 12;
    model.heads = 12;
    model.activation = kernels::Activation::gelu_tanh;
    result.batch = 4;
    result.context = 512;
  } else {
    fail<UsageError>("bench train: there is no preset \"{}\"; known: count, char-gpt, gpt2-124m", name);
  }
  model.max_length = result.context;
  return result;
}

double flop_per_step(const TrainBenchmark& benchmark) {
  models::TransformerConfig config = benchmark.model;
  config.resolve();
  const auto q_width = static_cast<double>(config.heads * config.head_dim);
  const auto kv_width = static_cast<double>(config.kv_heads * config.head_dim);
  const auto d = static_cast<double>(config.d_model);
  const double attention = d * (q_width + 2 * kv_width) + q_width * d;
  const double feed_forward = (config.gated ? 3.0 : 2.0) * d * static_cast<double>(config.d_ff);
  const double output = d * static_cast<double>(config.vocab_size);
  const double multiplied = static_cast<double>(config.layers) * (attention + feed_forward) + output;
  const auto tokens = static_cast<double>(benchmark.batch * benchmark.context);
  return 6.0 * multiplied * tokens +
         12.0 * static_cast<double>(config.layers) * tokens * static_cast<double>(benchmark.context) * q_width;
}

TrainTimings time_training(const TrainBenchmark& benchmark, Precision precision, int64_t steps) {
  ParameterStore parameters(initialise(1));
  const models::CausalLM model(parameters.root(), benchmark.model);
  optim::AdamW optimizer(parameters, {.weight_decay = 0.01});
  const int64_t tokens = benchmark.batch * benchmark.context;
  const Rng rng{1, 0};
  models::TokenInput input;
  input.ids = random_ids(tokens, benchmark.model.vocab_size, rng.split(0));
  const Tensor targets = random_ids(tokens, benchmark.model.vocab_size, rng.split(1));
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i <= benchmark.batch; ++i) offsets.push_back(i * benchmark.context);
  input.mask = Mask::packed(offsets, true);

  Tape tape;
  Gradients gradients;
  std::vector<double> times;
  int64_t system_calls = 0;
  constexpr int64_t warm_up = 2;
  for (int64_t step = 0; step < warm_up + steps; ++step) {
    if (step == warm_up) system_calls = allocator_statistics().system_calls;
    const auto start = Clock::now();
    Context ctx{.tape = &tape, .training = true, .precision = precision, .rng = rng.split(2)};
    const Variable loss = model.loss(ctx, input, targets);
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
