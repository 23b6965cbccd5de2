#include "weft/ops/linear_attention.h"

#include "weft/base/error.h"
#include "weft/kernels/linear_attention.h"
#include "weft/ops/attention_problem.h"

namespace weft::ops {

namespace {

// `log_sum_exp` of the saved attention holds the denominators.
kernels::LinearAttention call_of(const SavedAttention& saved) {
  const auto source = [&](size_t i) {
    return heads_at<kernels::ConstHeads>(saved.sources[i].source.value(), saved.sources[i].column,
                                         saved.problem.head_dim);
  };
  kernels::LinearAttention call{.problem = saved.problem, .q = source(0), .k = source(1), .v = source(2)};
  call.problem.segments = saved.segments;
  return call;
}

void backward(BackwardPass& pass, const SavedAttention& saved, const Tensor& dy) {
  std::array<size_t, 3> where{};
  std::vector<SourceGradient> gradients = make_gradients(pass, saved, where);
  const int64_t head_dim = saved.problem.head_dim;
  const auto view = [&](size_t i) {
    return heads_at<kernels::MutableHeads>(gradients[where[i]].tensor, saved.sources[i].column, head_dim);
  };
  kernels::linear_attention_backward({.attention = call_of(saved),
                                      .output = heads_view(saved.output, head_dim),
                                      .d_output = heads_view(dy, head_dim),
                                      .denominators = saved.log_sum_exp.data<float>(),
                                      .denominator_stride = saved.log_sum_exp.dim(1),
                                      .dq = view(0),
                                      .dk = view(1),
                                      .dv = view(2)});
  finish_gradients(pass, gradients);
}

}  // namespace

AttentionOutput linear_attention(Context& ctx, const HeadsSource& query, const HeadsSource& key,
                                 const HeadsSource& value, const Mask& mask, const AttentionOptions& options,
                                 std::span<float* const> states) {
  SavedAttention saved = describe_attention(ctx, {query, key, value}, mask, options);
  const int64_t rows = rows_of(query.source);
  Tensor output = Tensor::empty(query.source.shape().with_last(options.heads * options.head_dim), query.source.dtype());
  if (covered_rows(saved.segments, false) != rows) output.fill_zero();
  kernels::LinearAttentionForward call{.attention = call_of(saved), .output = heads_view(output, options.head_dim)};
  call.attention.states = states;
  const std::initializer_list<const Variable*> inputs = {&query.source, &key.source, &value.source};
  if (is_recorded(ctx, inputs)) {
    require(states.empty(), "linear attention: states serve inference; run without a tape");
    saved.log_sum_exp = Tensor::empty({options.heads, rows});
    call.denominators = saved.log_sum_exp.data<float>();
    call.denominator_stride = rows;
  }
  AttentionOutput result;
  if (options.need_weights) {
    result.weights =
        Tensor::empty({static_cast<int64_t>(saved.segments.size()), options.heads, saved.max_q, saved.max_k});
    kernels::linear_attention_weights(call.attention, result.weights.data<float>());
  }
  kernels::linear_attention_forward(call);
  saved.output = output;
  result.output =
      record(ctx, "linear_attention", inputs, std::move(output),
             [saved = std::move(saved)](BackwardPass& pass, const Tensor& dy) { backward(pass, saved, dy); });
  return result;
}

}  // namespace weft::ops
