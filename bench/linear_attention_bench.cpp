// Linear attention on one thread: GFLOP/s of the products of its chunks and their share of what the same run reaches
// with multiply-adds in registers alone; and tokens/s, to be compared with softmax attention of the same shape.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "bench/peak.h"
#include "weft/base/rng.h"
#include "weft/base/threads.h"
#include "weft/kernels/linear_attention.h"

namespace weft::bench {
namespace {

struct Shape {
  int64_t heads, length, head_dim;
  bool causal;
};

// Self-attention on one (tokens, 3·h·e) array, as training has it.
class Problem {
 public:
  explicit Problem(const Shape& shape) : shape_(shape) {
    const auto size = static_cast<size_t>(shape.length * width());
    qkv_.resize(3 * size), d_qkv_.resize(3 * size), output_.resize(size), d_output_.resize(size);
    denominators_.resize(static_cast<size_t>(shape.heads * shape.length));
    const Rng rng{5, 5};
    for (size_t i = 0; i < qkv_.size(); ++i) qkv_[i] = rng.uniform(i) * 4.0f - 2.0f;
    for (size_t i = 0; i < size; ++i) d_output_[i] = rng.uniform(i) - 0.5f;
    segments_ = {{0, shape.length, 0, shape.length}};
    attention_ = {.problem = {.segments = segments_,
                              .heads = shape.heads,
                              .kv_heads = shape.heads,
                              .head_dim = shape.head_dim,
                              .causal = shape.causal},
                  .q = part(qkv_, 0),
                  .k = part(qkv_, 1),
                  .v = part(qkv_, 2)};
  }

  void forward() {
    kernels::linear_attention_forward({.attention = attention_,
                                       .output = whole(output_),
                                       .denominators = denominators_.data(),
                                       .denominator_stride = shape_.length});
  }
  void backward() {
    kernels::linear_attention_backward({.attention = attention_,
                                        .output = whole(output_),
                                        .d_output = whole(d_output_),
                                        .denominators = denominators_.data(),
                                        .denominator_stride = shape_.length,
                                        .dq = part(d_qkv_, 0),
                                        .dk = part(d_qkv_, 1),
                                        .dv = part(d_qkv_, 2)});
  }
  // `between` products of a chunk with the sums, `within` of a chunk with itself, of which causality wants half.
  double flops(int64_t between, int64_t within) const {
    const int64_t pairs = shape_.causal ? within * chunk / 2 : 0;
    return 2.0 *
           static_cast<double>(shape_.heads * shape_.length * shape_.head_dim * (between * shape_.head_dim + pairs));
  }
  int64_t tokens() const { return shape_.length; }

 private:
  static constexpr int64_t chunk = 64;
  int64_t width() const { return shape_.heads * shape_.head_dim; }
  kernels::MutableHeads part(std::vector<float>& array, int64_t index) {
    return {array.data() + index * width(), DType::f32, 3 * width(), shape_.head_dim};
  }
  kernels::MutableHeads whole(std::vector<float>& array) {
    return {array.data(), DType::f32, width(), shape_.head_dim};
  }

  Shape shape_;
  std::vector<float> qkv_, d_qkv_, output_, d_output_, denominators_;
  std::vector<kernels::AttentionSegment> segments_;
  kernels::LinearAttention attention_;
};

void report(benchmark::State& state, const Problem& problem, double flops) {
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(flops * rounds * 1e-9, benchmark::Counter::kIsRate);
  state.counters["of_peak"] = benchmark::Counter(flops * rounds / peak_flops(), benchmark::Counter::kIsRate);
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(problem.tokens()) * rounds, benchmark::Counter::kIsRate);
}

void linear_forward(benchmark::State& state, const Shape& shape) {
  set_thread_count(1);
  Problem problem(shape);
  for (auto _ : state) problem.forward();
  report(state, problem, problem.flops(2, 2));
}

void linear_backward(benchmark::State& state, const Shape& shape) {
  set_thread_count(1);
  Problem problem(shape);
  problem.forward();
  for (auto _ : state) problem.backward();
  report(state, problem, problem.flops(5, 6));
}

// One more token of 8 heads, whose sums are in the second-level cache.
void linear_token(benchmark::State& state, int64_t head_dim) {
  set_thread_count(1);
  constexpr int64_t heads = 8;
  std::vector<float> qkv(static_cast<size_t>(3 * heads * head_dim), 0.5f), output(qkv.size() / 3);
  std::vector<float> sums(static_cast<size_t>(kernels::linear_state_size(heads, head_dim, head_dim)));
  const std::vector<float*> states = {sums.data()};
  const std::vector<kernels::AttentionSegment> segments = {{0, 1, 0, 1}};
  const auto part = [&](int64_t index) {
    return kernels::ConstHeads{qkv.data() + index * heads * head_dim, DType::f32, 3 * heads * head_dim, head_dim};
  };
  const kernels::LinearAttentionForward call{
      .attention =
          {.problem = {.segments = segments, .heads = heads, .kv_heads = heads, .head_dim = head_dim, .causal = true},
           .q = part(0),
           .k = part(1),
           .v = part(2),
           .states = states},
      .output = {output.data(), DType::f32, heads * head_dim, head_dim}};
  for (auto _ : state) kernels::linear_attention_forward(call);
  state.counters["tokens/s"] = benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

constexpr Shape long_context{2, 4096, 64, true};
constexpr Shape long_context_full{2, 4096, 64, false};
constexpr Shape wide{2, 4096, 128, true};
constexpr Shape small{4, 256, 32, true};

}  // namespace

BENCHMARK_CAPTURE(linear_forward, long_context, long_context);
BENCHMARK_CAPTURE(linear_backward, long_context, long_context);
BENCHMARK_CAPTURE(linear_forward, long_context_full, long_context_full);
BENCHMARK_CAPTURE(linear_backward, long_context_full, long_context_full);
BENCHMARK_CAPTURE(linear_forward, wide, wide);
BENCHMARK_CAPTURE(linear_backward, wide, wide);
BENCHMARK_CAPTURE(linear_forward, small, small);
BENCHMARK_CAPTURE(linear_backward, small, small);
BENCHMARK_CAPTURE(linear_token, e64, 64);

}  // namespace weft::bench
