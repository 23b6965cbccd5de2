#include "weft/ops/scaled_dot_product_attention.h"

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "weft/base/error.h"
#include "weft/kernels/scored_attention.h"
#include "weft/ops/score_mask.h"

namespace weft::ops {

namespace {

constexpr std::string_view kName = "scaled_dot_product_attention";

struct Sizes {
  int64_t b, h, kv_heads, q, k, e, w;
};

// What backward needs.
struct Saved {
  Sizes sizes{};
  std::array<Tensor, 3> tensors;  // query, key, value
  std::array<GradientEdge, 3> edges;
  std::vector<kernels::AttentionSegment> segments;
  kernels::AttentionProblem problem;  // without segments; its mask points into the one below
  ScoreMask mask;
  Tensor output, log_sum_exp;
};

// The size of dimension −back, 1 where there is none.
int64_t size_of_dimension(const Tensor& x, int back) { return x.rank() >= back ? x.dim(-back) : 1; }

Sizes sizes_of(const Tensor& q, const Tensor& k, const Tensor& v, bool enable_gqa) {
  require(q.rank() >= 2 && q.rank() <= 4 && k.rank() == q.rank() && v.rank() == q.rank(),
          "{}: query, key and value have shape ((b,) (h,) tokens, width), got {}, {} and {}", kName, q.shape(),
          k.shape(), v.shape());
  const Sizes sizes{.b = size_of_dimension(q, 4),
                    .h = size_of_dimension(q, 3),
                    .kv_heads = size_of_dimension(k, 3),
                    .q = q.dim(-2),
                    .k = k.dim(-2),
                    .e = q.dim(-1),
                    .w = v.dim(-1)};
  require(size_of_dimension(k, 4) == sizes.b && size_of_dimension(v, 4) == sizes.b,
          "{}: query, key and value hold as many sequences, got {}, {} and {}", kName, q.shape(), k.shape(), v.shape());
  require(k.dim(-1) == sizes.e && sizes.e > 0, "{}: queries and keys are equally wide, got {} and {}", kName, q.shape(),
          k.shape());
  require(size_of_dimension(v, 3) == sizes.kv_heads && v.dim(-2) == sizes.k && sizes.w > 0,
          "{}: one value per key and head, got {} for keys {}", kName, v.shape(), k.shape());
  require(sizes.kv_heads > 0 && sizes.h % sizes.kv_heads == 0 && sizes.h > 0,
          "{}: the heads of the query {} are not a multiple of those of the key {}", kName, q.shape(), k.shape());
  require(sizes.kv_heads == sizes.h || enable_gqa,
          "{}: query {} and key {} differ in heads; set enable_gqa for grouped queries", kName, q.shape(), k.shape());
  require(k.dtype() == q.dtype() && v.dtype() == q.dtype(), "{}: one element type, got {}, {} and {}", kName,
          name_of(q.dtype()), name_of(k.dtype()), name_of(v.dtype()));
  return sizes;
}

// (…, heads, tokens, width) as the kernels see it: rows of one head follow each other.
template <typename View, typename T>
View view_of(T& x) {
  return {x.raw(), x.dtype(), x.dim(-1), x.dim(-2) * x.dim(-1)};
}

ScoreMask mask_of(const ScaledDotProductOptions& options, const Sizes& sizes) {
  MaskPart part{options.attn_mask};
  if (const Tensor& mask = options.attn_mask; mask.defined()) {
    require(mask.rank() >= 2 && mask.rank() <= 4, "{}: the mask is broadcast to (b, h, q, k), got {}", kName,
            mask.shape());
    part.values =
        mask.contiguous().reshape({size_of_dimension(mask, 4), size_of_dimension(mask, 3), mask.dim(-2), mask.dim(-1)});
  }
  return combine_masks(kName, {&part, 1}, {sizes.b, sizes.h, sizes.q, sizes.k}, options.is_causal);
}

Saved describe(Context& ctx, const std::array<const Variable*, 3>& inputs, const ScaledDotProductOptions& options) {
  Saved saved;
  for (size_t i = 0; i < 3; ++i) {
    require(inputs[i]->defined(), "{}: query, key and value are needed", kName);
    saved.tensors[i] = inputs[i]->value().contiguous();
    saved.edges[i] = inputs[i]->edge();
  }
  const Sizes sizes = saved.sizes = sizes_of(saved.tensors[0], saved.tensors[1], saved.tensors[2], options.enable_gqa);
  for (int64_t i = 0; i < sizes.b; ++i) {
    saved.segments.push_back({i * sizes.h * sizes.q, sizes.q, i * sizes.kv_heads * sizes.k, sizes.k});
  }
  saved.mask = mask_of(options, sizes);
  kernels::AttentionProblem& problem = saved.problem;
  problem.heads = sizes.h;
  problem.kv_heads = sizes.kv_heads;
  problem.head_dim = sizes.e;
  problem.value_dim = sizes.w;
  problem.scale = options.scale.value_or(1.0f / std::sqrt(static_cast<float>(sizes.e)));
  problem.causal = saved.mask.causal;
  if (const Tensor& allowed = saved.mask.allowed; allowed.defined()) {
    problem.allowed = allowed.data<uint8_t>();
    problem.allowed_segment_stride = allowed.dim(0) == 1 ? 0 : allowed.stride(0);
    problem.allowed_head_stride = allowed.dim(1) == 1 ? 0 : allowed.stride(1);
    problem.allowed_query_stride = allowed.stride(2);
  }
  require(options.dropout_p >= 0.0 && options.dropout_p < 1.0, "{}: dropout_p {} is not in [0, 1)", kName,
          options.dropout_p);
  if (ctx.training && options.dropout_p > 0.0) {
    problem.dropout = {static_cast<float>(options.dropout_p), ctx.next_site()};
  }
  return saved;
}

kernels::ScoredAttention scored_call(const Saved& saved) {
  kernels::ScoredAttention call;
  call.problem = saved.problem;
  call.problem.segments = saved.segments;
  call.q = view_of<kernels::ConstHeads>(saved.tensors[0]);
  call.k = view_of<kernels::ConstHeads>(saved.tensors[1]);
  call.v = view_of<kernels::ConstHeads>(saved.tensors[2]);
  const Tensor& additive = saved.mask.additive;
  call.additive = {additive.data<float>(), additive.dim(0) == 1 ? 0 : additive.stride(0),
                   additive.dim(1) == 1 ? 0 : additive.stride(1), additive.stride(2)};
  return call;
}

void forward(Saved& saved, bool recorded, float* weights) {
  const auto output = view_of<kernels::MutableHeads>(saved.output);
  if (saved.mask.additive.defined()) return kernels::scored_attention_forward(scored_call(saved), output, weights);
  kernels::AttentionForward call;
  call.problem = saved.problem;
  call.problem.segments = saved.segments;
  call.q = view_of<kernels::ConstHeads>(saved.tensors[0]);
  call.k = view_of<kernels::ConstHeads>(saved.tensors[1]);
  call.v = view_of<kernels::ConstHeads>(saved.tensors[2]);
  call.output = output;
  if (recorded) {
    // A query's row in q counts the heads before its sequence as well: with q as stride the array is (b, h, q).
    saved.log_sum_exp = Tensor::empty({saved.sizes.b, saved.sizes.h, saved.sizes.q});
    call.log_sum_exp = saved.log_sum_exp.data<float>();
    call.log_sum_exp_stride = saved.sizes.q;
  }
  if (weights != nullptr) {
    kernels::attention_forward_explicit(call, weights);
  } else {
    kernels::attention_forward(call);
  }
}

void backward(BackwardPass& pass, const Saved& saved, const Tensor& dy) {
  const Tensor d_output = dy.contiguous();
  std::array<Tensor, 3> gradients;
  for (size_t i = 0; i < 3; ++i) gradients[i] = Tensor::empty(saved.tensors[i].shape(), saved.tensors[i].dtype());
  const auto d_output_view = view_of<kernels::ConstHeads>(d_output);
  const auto dq = view_of<kernels::MutableHeads>(gradients[0]);
  const auto dk = view_of<kernels::MutableHeads>(gradients[1]);
  const auto dv = view_of<kernels::MutableHeads>(gradients[2]);
  if (saved.mask.additive.defined()) {
    kernels::scored_attention_backward(scored_call(saved), d_output_view, {.dq = dq, .dk = dk, .dv = dv});
  } else {
    kernels::AttentionBackward call;
    call.problem = saved.problem;
    call.problem.segments = saved.segments;
    call.q = view_of<kernels::ConstHeads>(saved.tensors[0]);
    call.k = view_of<kernels::ConstHeads>(saved.tensors[1]);
    call.v = view_of<kernels::ConstHeads>(saved.tensors[2]);
    call.output = view_of<kernels::ConstHeads>(saved.output);
    call.d_output = d_output_view;
    call.log_sum_exp = saved.log_sum_exp.data<float>();
    call.log_sum_exp_stride = saved.sizes.q;
    call.dq = dq;
    call.dk = dk;
    call.dv = dv;
    kernels::attention_backward(call);
  }
  // One variable may be query, key and value at once: its shares add up.
  for (size_t i = 0; i < 3; ++i) pass.add(saved.edges[i], std::move(gradients[i]));
}

}  // namespace

AttentionOutput scaled_dot_product_attention(Context& ctx, const Variable& query, const Variable& key,
                                             const Variable& value, const ScaledDotProductOptions& options) {
  Saved saved = describe(ctx, {&query, &key, &value}, options);
  const bool recorded = is_recorded(ctx, {&query, &key, &value});
  saved.output = Tensor::empty(query.shape().with_last(saved.sizes.w), query.dtype());
  AttentionOutput result;
  if (options.need_weights) result.weights = Tensor::empty(query.shape().with_last(saved.sizes.k));
  forward(saved, recorded, options.need_weights ? result.weights.data<float>() : nullptr);
  Tensor output = saved.output;
  result.output =
      record(ctx, "scaled_dot_product_attention", {&query, &key, &value}, std::move(output),
             [saved = std::move(saved)](BackwardPass& pass, const Tensor& dy) { backward(pass, saved, dy); });
  return result;
}

}  // namespace weft::ops
