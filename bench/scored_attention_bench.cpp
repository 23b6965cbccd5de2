// Attention by its scores (ALiBi), GFLOP/s counted as for the fused kernels, on all threads.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "weft/base/threads.h"
#include "weft/kernels/scored_attention.h"

namespace weft::bench {
namespace {

struct Shape {
  int64_t segments, heads, length, head_dim;
};

// Causal self-attention on one (tokens, 3 · h · e) array.
class Problem {
 public:
  explicit Problem(const Shape& shape) : shape_(shape), slopes_(static_cast<size_t>(shape.heads), 0.1f) {
    const auto rows = static_cast<size_t>(shape.segments * shape.length * shape.heads * shape.head_dim);
    for (std::vector<float>* array : {&qkv_, &d_qkv_}) array->resize(3 * rows);
    for (std::vector<float>* array : {&output_, &d_output_}) array->resize(rows);
    for (size_t i = 0; i < qkv_.size(); ++i) qkv_[i] = Rng{5, 5}.uniform(i) * 4.0f - 2.0f;
    for (size_t i = 0; i < rows; ++i) d_output_[i] = Rng{5, 6}.uniform(i) - 0.5f;
    for (int64_t s = 0; s < shape.segments; ++s) {
      segments_.push_back({s * shape.length, shape.length, s * shape.length, shape.length});
    }
    call_.problem = {.segments = segments_,
                     .heads = shape.heads,
                     .kv_heads = shape.heads,
                     .head_dim = shape.head_dim,
                     .scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim)),
                     .causal = true};
    call_.terms.slopes = slopes_.data();
    call_.q = part(qkv_, 0);
    call_.k = part(qkv_, 1);
    call_.v = part(qkv_, 2);
  }
  void forward() { kernels::scored_attention_forward(call_, whole(output_), nullptr); }
  void backward() {
    kernels::scored_attention_backward(call_, whole(d_output_),
                                       {.dq = part(d_qkv_, 0), .dk = part(d_qkv_, 1), .dv = part(d_qkv_, 2)});
  }
  double flops(double factor) const {
    return factor * 0.5 * static_cast<double>(shape_.length * shape_.length * shape_.segments) *
           static_cast<double>(shape_.heads * shape_.head_dim);
  }

 private:
  int64_t width() const { return shape_.heads * shape_.head_dim; }
  kernels::MutableHeads part(std::vector<float>& array, int64_t index) {
    return {array.data() + index * width(), DType::f32, 3 * width(), shape_.head_dim};
  }
  kernels::MutableHeads whole(std::vector<float>& array) {
    return {array.data(), DType::f32, width(), shape_.head_dim};
  }

  Shape shape_;
  std::vector<float> slopes_, qkv_, d_qkv_, output_, d_output_;
  std::vector<kernels::AttentionSegment> segments_;
  kernels::ScoredAttention call_;
};

void report(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * static_cast<double>(state.iterations()) * 1e-9, benchmark::Counter::kIsRate);
}

void scored_forward(benchmark::State& state, const Shape& shape) {
  set_thread_count(static_cast<int>(state.range(0)));
  Problem problem(shape);
  for (auto _ : state) problem.forward();
  report(state, problem.flops(4.0));
}

void scored_backward(benchmark::State& state, const Shape& shape) {
  set_thread_count(static_cast<int>(state.range(0)));
  Problem problem(shape);
  for (auto _ : state) problem.backward();
  report(state, problem.flops(10.0));
}

constexpr Shape one_head{1, 1, 1024, 64};
constexpr Shape one_head_batch{32, 1, 128, 64};
constexpr Shape char_gpt{8, 6, 256, 64};

}  // namespace

BENCHMARK_CAPTURE(scored_forward, one_head, one_head)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(scored_backward, one_head, one_head)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(scored_forward, one_head_batch, one_head_batch)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(scored_backward, one_head_batch, one_head_batch)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(scored_forward, char_gpt, char_gpt)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(scored_backward, char_gpt, char_gpt)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace weft::bench
