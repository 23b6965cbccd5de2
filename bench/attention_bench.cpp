// Fused attention on one thread: GFLOP/s, counted as 4·q·k·e per head forward and 10·q·k·e backward (half of that when
// causal), and their share of what the same run reaches with multiply-adds in registers alone.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/peak.h"
#include "weft/base/threads.h"
#include "weft/kernels/attention.h"

namespace weft::bench {
namespace {

struct Shape {
  int64_t segments, heads, q_length, k_length, head_dim;
  bool causal;
  float dropout = 0.0f;
  DType dtype = DType::f32;
};

// Self-attention on one (tokens, 3·h·e) array, as training has it; q and k lengths may differ for decoding.
class Problem {
 public:
  explicit Problem(const Shape& shape) : shape_(shape) {
    const int64_t width = shape.heads * shape.head_dim;
    const int64_t tokens = shape.segments * std::max(shape.q_length, shape.k_length);
    bytes_ = static_cast<int64_t>(size_of(shape.dtype));
    for (std::vector<char>* array : {&qkv_, &d_qkv_})
      array->assign(static_cast<size_t>(3 * tokens * width * bytes_), 0);
    for (std::vector<char>* array : {&output_, &d_output_}) {
      array->assign(static_cast<size_t>(tokens * width * bytes_), 0);
    }
    fill(qkv_), fill(d_output_);
    log_sum_exp_.resize(static_cast<size_t>(shape.heads * tokens));
    for (int64_t s = 0; s < shape.segments; ++s) {
      segments_.push_back({s * shape.q_length, shape.q_length, s * shape.k_length, shape.k_length});
    }
    problem_ = {.segments = segments_,
                .heads = shape.heads,
                .kv_heads = shape.heads,
                .head_dim = shape.head_dim,
                .scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim)),
                .causal = shape.causal,
                .dropout = {shape.dropout, Rng{1, 2}}};
  }

  void forward() {
    kernels::attention_forward({.problem = problem_,
                                .q = part(qkv_, 0),
                                .k = part(qkv_, 1),
                                .v = part(qkv_, 2),
                                .output = whole(output_),
                                .log_sum_exp = log_sum_exp_.data(),
                                .log_sum_exp_stride = stride()});
  }
  void backward() {
    kernels::attention_backward({.problem = problem_,
                                 .q = part(qkv_, 0),
                                 .k = part(qkv_, 1),
                                 .v = part(qkv_, 2),
                                 .output = whole(output_),
                                 .d_output = whole(d_output_),
                                 .log_sum_exp = log_sum_exp_.data(),
                                 .log_sum_exp_stride = stride(),
                                 .dq = part(d_qkv_, 0),
                                 .dk = part(d_qkv_, 1),
                                 .dv = part(d_qkv_, 2)});
  }
  double flops(double factor) const {
    const double pairs =
        static_cast<double>(shape_.q_length * shape_.k_length) * (shape_.causal && shape_.q_length > 1 ? 0.5 : 1.0);
    return factor * pairs * static_cast<double>(shape_.segments * shape_.heads * shape_.head_dim);
  }

 private:
  void fill(std::vector<char>& array) {
    const Rng rng{5, 5};
    const int64_t count = static_cast<int64_t>(array.size()) / bytes_;
    for (int64_t i = 0; i < count; ++i) {
      const float value = rng.uniform(static_cast<uint64_t>(i)) * 4.0f - 2.0f;
      if (shape_.dtype == DType::bf16) {
        reinterpret_cast<BFloat16*>(array.data())[i] = BFloat16(value);
      } else {
        reinterpret_cast<float*>(array.data())[i] = value;
      }
    }
  }
  int64_t width() const { return shape_.heads * shape_.head_dim; }
  int64_t stride() const { return static_cast<int64_t>(log_sum_exp_.size()) / shape_.heads; }
  kernels::MutableHeads part(std::vector<char>& array, int64_t index) {
    return {array.data() + index * width() * bytes_, shape_.dtype, 3 * width(), shape_.head_dim};
  }
  kernels::MutableHeads whole(std::vector<char>& array) {
    return {array.data(), shape_.dtype, width(), shape_.head_dim};
  }

  Shape shape_;
  int64_t bytes_;
  std::vector<char> qkv_, d_qkv_, output_, d_output_;
  std::vector<float> log_sum_exp_;
  std::vector<kernels::AttentionSegment> segments_;
  kernels::AttentionProblem problem_;
};

void report(benchmark::State& state, double flops) {
  const double total = flops * static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(total * 1e-9, benchmark::Counter::kIsRate);
  state.counters["of_peak"] = benchmark::Counter(total / peak_flops(), benchmark::Counter::kIsRate);
}

void forward(benchmark::State& state, const Shape& shape) {
  set_thread_count(1);
  Problem problem(shape);
  for (auto _ : state) problem.forward();
  report(state, problem.flops(4.0));
}

void backward(benchmark::State& state, const Shape& shape) {
  set_thread_count(1);
  Problem problem(shape);
  problem.forward();
  for (auto _ : state) problem.backward();
  report(state, problem.flops(10.0));
}

constexpr Shape count{320, 8, 16, 16, 32, true};
constexpr Shape count_cached{8, 8, 16, 16, 32, true};  // as count, in the second-level cache
constexpr Shape char_gpt_cached{1, 1, 256, 256, 64, true};
constexpr Shape count_bf16{320, 8, 16, 16, 32, true, 0.0f, DType::bf16};
constexpr Shape count_dropout{320, 8, 16, 16, 32, true, 0.1f};
constexpr Shape char_gpt{32, 6, 256, 256, 64, true};
constexpr Shape char_gpt_dropout{32, 6, 256, 256, 64, true, 0.2f};
constexpr Shape char_gpt_bf16{32, 6, 256, 256, 64, true, 0.0f, DType::bf16};
constexpr Shape small_gpt{12, 4, 64, 64, 32, true};
constexpr Shape gpt2{4, 12, 512, 512, 64, true};
constexpr Shape full{4, 12, 512, 512, 64, false};
constexpr Shape wide{2, 8, 512, 512, 128, true};
constexpr Shape long_context{1, 2, 4096, 4096, 64, true};
constexpr Shape decode{1, 12, 1, 4096, 64, true};

}  // namespace

BENCHMARK_CAPTURE(forward, count, count);
BENCHMARK_CAPTURE(backward, count, count);
BENCHMARK_CAPTURE(forward, count_cached, count_cached);
BENCHMARK_CAPTURE(backward, count_cached, count_cached);
BENCHMARK_CAPTURE(forward, char_gpt_cached, char_gpt_cached);
BENCHMARK_CAPTURE(backward, char_gpt_cached, char_gpt_cached);
BENCHMARK_CAPTURE(forward, count_bf16, count_bf16);
BENCHMARK_CAPTURE(backward, count_bf16, count_bf16);
BENCHMARK_CAPTURE(forward, count_dropout, count_dropout);
BENCHMARK_CAPTURE(backward, count_dropout, count_dropout);
BENCHMARK_CAPTURE(forward, char_gpt, char_gpt);
BENCHMARK_CAPTURE(backward, char_gpt, char_gpt);
BENCHMARK_CAPTURE(forward, char_gpt_dropout, char_gpt_dropout);
BENCHMARK_CAPTURE(backward, char_gpt_dropout, char_gpt_dropout);
BENCHMARK_CAPTURE(forward, char_gpt_bf16, char_gpt_bf16);
BENCHMARK_CAPTURE(backward, char_gpt_bf16, char_gpt_bf16);
BENCHMARK_CAPTURE(forward, small_gpt, small_gpt);
BENCHMARK_CAPTURE(backward, small_gpt, small_gpt);
BENCHMARK_CAPTURE(forward, gpt2, gpt2);
BENCHMARK_CAPTURE(backward, gpt2, gpt2);
BENCHMARK_CAPTURE(forward, full, full);
BENCHMARK_CAPTURE(backward, full, full);
BENCHMARK_CAPTURE(forward, wide, wide);
BENCHMARK_CAPTURE(backward, wide, wide);
BENCHMARK_CAPTURE(forward, long_context, long_context);
BENCHMARK_CAPTURE(backward, long_context, long_context);
BENCHMARK_CAPTURE(forward, decode, decode);

}  // namespace weft::bench
