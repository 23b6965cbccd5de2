// What an attention layer costs as sequences grow, with softmax and with linear weights: one line of tab-separated
// numbers per length and kind on standard output. bench/plot_attention_length.py draws them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "weft/autograd/parameter_store.h"
#include "weft/autograd/tape.h"
#include "weft/kernels/linear_attention.h"
#include "weft/nn/attention.h"
#include "weft/tensor/allocator.h"

namespace weft::bench {
namespace {

constexpr int64_t d_model = 256, heads = 4, head_dim = d_model / heads;

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// The least time of a few calls, of as many as fit into a quarter of a second.
template <typename Action>
double least_milliseconds(const Action& action) {
  action();  // fills caches and the allocator
  double least = 1e30, total = 0.0;
  for (int run = 0; run < 200 && (run == 0 || total < 250.0); ++run) {
    const auto start = std::chrono::steady_clock::now();
    action();
    const double taken = milliseconds_since(start);
    least = std::min(least, taken);
    total += taken;
  }
  return least;
}

struct Cost {
  double training_ms = 0.0;    // forward and backward of one causal sequence
  int64_t training_bytes = 0;  // the most that was held at once
  double token_us = 0.0;       // one more token behind `length` others
  int64_t cache_bytes = 0;     // what is kept of these
};

Tensor random_rows(int64_t rows) {
  Tensor tensor = Tensor::empty({rows, d_model});
  Initialiser::normal(1.0).fill(tensor, Rng{1, 0});
  return tensor;
}

Cost measure(nn::AttentionWeights weights, int64_t length) {
  ParameterStore store(initialise(1));
  const nn::Attention attention(store.root(), {.d_model = d_model, .heads = heads, .weights = weights});
  Cost cost;
  {
    const Tensor x = random_rows(length), upstream = random_rows(length);
    const Mask mask = Mask::packed(std::array<int64_t, 2>{0, length}, true);
    const auto step = [&] {
      Tape tape;
      Context ctx{.tape = &tape};
      const Variable y = attention.forward(ctx, tape.watch(x), {}, {.mask = mask}).output;
      const auto give = [&](BackwardPass& pass, const Tensor&) { pass.add(y.edge(), upstream); };
      tape.backward(record(ctx, "upstream", {&y}, Tensor::scalar(0.0f), give));
    };
    const int64_t before = allocator_statistics().live_bytes;
    reset_allocator_peak();
    cost.training_ms = least_milliseconds(step);
    cost.training_bytes = allocator_statistics().peak_live_bytes - before;
  }
  const bool linear = weights == nn::AttentionWeights::linear;
  const int64_t state_size = kernels::linear_state_size(heads, head_dim, head_dim);
  nn::KvCache cache = linear ? nn::KvCache::of_states(1, 1, length + 1, state_size)
                             : nn::KvCache(1, 1, length + 1, d_model, DType::f32);
  if (linear) {
    cost.cache_bytes = state_size * int64_t{sizeof(float)};
  } else {
    cost.cache_bytes = 2 * length * d_model * int64_t{sizeof(float)};
    cache.layer(0).keys.fill_zero();
    cache.layer(0).values.fill_zero();
  }
  cache.advance(std::array<int64_t, 1>{length});
  const Tensor token = random_rows(1);
  const Mask mask = Mask::packed(std::array<int64_t, 2>{0, 1}, true);
  cost.token_us = 1e3 * least_milliseconds([&] {
                    Context ctx;
                    attention.forward(ctx, token, {}, {.mask = mask, .cache = &cache});
                  });
  return cost;
}

}  // namespace
}  // namespace weft::bench

int main() {
  using weft::nn::AttentionWeights;
  fmt::print("length\tweights\ttraining_ms\ttraining_mib\ttoken_us\tcache_kib\n");
  for (int64_t length = 512; length <= 16384; length *= 2) {
    for (const auto weights : {AttentionWeights::softmax, AttentionWeights::linear}) {
      const weft::bench::Cost cost = weft::bench::measure(weights, length);
      fmt::print("{}\t{}\t{:.3f}\t{:.2f}\t{:.2f}\t{:.1f}\n", length,
                 weights == AttentionWeights::linear ? "linear" : "softmax", cost.training_ms,
                 static_cast<double>(cost.training_bytes) / 1048576.0, cost.token_us,
                 static_cast<double>(cost.cache_bytes) / 1024.0);
    }
  }
}
