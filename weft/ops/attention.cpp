#include "weft/ops/attention.h"

#include "weft/ops/attention_problem.h"

namespace weft::ops {

namespace {

void attention_backward(BackwardPass& pass, const SavedAttention& saved, const Tensor& dy) {
  std::array<size_t, 3> where{};
  std::vector<SourceGradient> gradients = make_gradients(pass, saved, where);
  const int64_t head_dim = saved.problem.head_dim;
  const auto source_view = [&](size_t i) {
    return heads_at<kernels::ConstHeads>(saved.sources[i].source.value(), saved.sources[i].column, head_dim);
  };
  const auto gradient_view = [&](size_t i) {
    return heads_at<kernels::MutableHeads>(gradients[where[i]].tensor, saved.sources[i].column, head_dim);
  };
  kernels::AttentionBackward call;
  call.problem = saved.problem;
  call.problem.segments = saved.segments;
  call.q = source_view(0);
  call.k = source_view(1);
  call.v = source_view(2);
  call.output = heads_view(saved.output, head_dim);
  call.d_output = heads_view(dy, head_dim);
  call.log_sum_exp = saved.log_sum_exp.data<float>();
  call.log_sum_exp_stride = saved.log_sum_exp.dim(1);
  call.dq = gradient_view(0);
  call.dk = gradient_view(1);
  call.dv = gradient_view(2);
  kernels::attention_backward(call);
  finish_gradients(pass, gradients);
}

}  // namespace

AttentionOutput attention(Context& ctx, const HeadsSource& query, const HeadsSource& key, const HeadsSource& value,
                          const Mask& mask, const AttentionOptions& options) {
  SavedAttention saved = describe_attention(ctx, {query, key, value}, mask, options);
  const int64_t rows = rows_of(query.source);
  Tensor output = Tensor::empty(query.source.shape().with_last(options.heads * options.head_dim), query.source.dtype());
  if (covered_rows(saved.segments, false) != rows) output.fill_zero();

  kernels::AttentionForward call;
  call.problem = saved.problem;
  call.problem.segments = saved.segments;
  call.q = heads_at<kernels::ConstHeads>(query.source.value(), query.column, options.head_dim);
  call.k = heads_at<kernels::ConstHeads>(key.source.value(), key.column, options.head_dim);
  call.v = heads_at<kernels::ConstHeads>(value.source.value(), value.column, options.head_dim);
  call.output = heads_view(output, options.head_dim);
  const std::initializer_list<const Variable*> inputs = {&query.source, &key.source, &value.source};
  if (is_recorded(ctx, inputs)) {
    saved.log_sum_exp = Tensor::empty({options.heads, rows});
    call.log_sum_exp = saved.log_sum_exp.data<float>();
    call.log_sum_exp_stride = rows;
  }
  AttentionOutput result;
  if (options.need_weights) {
    result.weights =
        Tensor::empty({static_cast<int64_t>(saved.segments.size()), options.heads, saved.max_q, saved.max_k});
    kernels::attention_forward_explicit(call, result.weights.data<float>());
  } else {
    kernels::attention_forward(call);
  }
  saved.output = output;
  result.output =
      record(ctx, "attention", inputs, std::move(output),
             [saved = std::move(saved)](BackwardPass& pass, const Tensor& dy) { attention_backward(pass, saved, dy); });
  return result;
}

}  // namespace weft::ops
