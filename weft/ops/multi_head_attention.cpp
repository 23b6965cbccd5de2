#include "weft/ops/multi_head_attention.h"

#include <array>
#include <string_view>

#include "weft/base/error.h"
#include "weft/kernels/elementwise.h"
#include "weft/ops/append_row.h"
#include "weft/ops/linear.h"
#include "weft/ops/rows.h"
#include "weft/ops/score_mask.h"
#include "weft/ops/scored_attention.h"

namespace weft::ops {

namespace {

constexpr std::string_view kName = "multi_head_attention";

struct Inputs {
  const Variable &query, &key, &value;  // ((b,) tokens, width)
};

void require_shape(std::string_view what, const Variable& x, const Shape& expected, bool needed) {
  require(x.defined() || !needed, "{}: {} {} is missing", kName, what, expected);
  require(!x.defined() || (x.shape() == expected && x.dtype() == DType::f32), "{}: {} is {} f32, got {} {}", kName,
          what, expected, x.defined() ? x.shape() : Shape{}, x.defined() ? name_of(x.dtype()) : "");
}

void check_inputs(const Variable& query, const Variable& key, const Variable& value) {
  require(query.defined() && key.defined() && value.defined(), "{}: query, key and value are needed", kName);
  const int rank = query.value().rank();
  require((rank == 2 || rank == 3) && key.value().rank() == rank && value.value().rank() == rank,
          "{}: query, key and value have shape ((b,) tokens, width), got {}, {} and {}", kName, query.shape(),
          key.shape(), value.shape());
  require(rank == 2 || (key.dim(0) == query.dim(0) && value.dim(0) == query.dim(0)),
          "{}: query, key and value hold as many sequences, got {}, {} and {}", kName, query.shape(), key.shape(),
          value.shape());
  require(key.dim(-2) == value.dim(-2), "{}: one value per key, got {} and {}", kName, key.shape(), value.shape());
}

void check_weights(const Inputs& in, const MultiHeadWeights& weights, const MultiHeadOptions& options) {
  const int64_t d = in.query.dim(-1);
  require(options.num_heads > 0 && d % options.num_heads == 0, "{}: width {} is not a multiple of num_heads {}", kName,
          d, options.num_heads);
  const bool separate =
      weights.q_proj_weight.defined() || weights.k_proj_weight.defined() || weights.v_proj_weight.defined();
  require(separate != weights.in_proj_weight.defined(),
          "{}: either in_proj_weight, or q_proj_weight, k_proj_weight and v_proj_weight", kName);
  if (separate) {
    require_shape("q_proj_weight", weights.q_proj_weight, {d, d}, true);
    require_shape("k_proj_weight", weights.k_proj_weight, {d, in.key.dim(-1)}, true);
    require_shape("v_proj_weight", weights.v_proj_weight, {d, in.value.dim(-1)}, true);
  } else {
    require(in.key.dim(-1) == d && in.value.dim(-1) == d,
            "{}: in_proj_weight takes keys and values of width {}, got {} and {}; give separate weights", kName, d,
            in.key.dim(-1), in.value.dim(-1));
    require_shape("in_proj_weight", weights.in_proj_weight, {3 * d, d}, true);
  }
  require_shape("in_proj_bias", weights.in_proj_bias, {3 * d}, false);
  require_shape("out_proj_weight", weights.out_proj_weight, {d, d}, true);
  require_shape("out_proj_bias", weights.out_proj_bias, {d}, false);
  require(weights.bias_k.defined() == weights.bias_v.defined(), "{}: bias_k and bias_v come together", kName);
  for (const Variable* bias : {&weights.bias_k, &weights.bias_v}) {
    require(!bias->defined() || bias->value().numel() == d, "{}: bias_k and bias_v have {} numbers, got {}", kName, d,
            bias->defined() ? bias->shape() : Shape{});
  }
}

bool same(const Variable& a, const Variable& b) {
  return a.value().raw() == b.value().raw() && a.shape() == b.shape() && a.edge().slot == b.edge().slot &&
         a.edge().parameter == b.edge().parameter;
}

// x through the projections first, …, first + count − 1 of query, key and value: one product.
Variable project(Context& ctx, const Variable& x, const MultiHeadWeights& weights, int64_t first, int64_t count) {
  const Variable& whole = weights.in_proj_weight;
  const std::array<const Variable*, 3> separate = {&weights.q_proj_weight, &weights.k_proj_weight,
                                                   &weights.v_proj_weight};
  const int64_t d = weights.out_proj_weight.dim(0), begin = first * d, end = (first + count) * d;
  Variable weight = whole.defined() ? whole : *separate[static_cast<size_t>(first)], bias = weights.in_proj_bias;
  if (count < 3 && whole.defined()) weight = rows(ctx, whole, begin, end);
  if (count < 3 && bias.defined()) bias = rows(ctx, bias, begin, end);
  return linear(ctx, x, weight, bias);
}

struct Projected {
  HeadsSource query, key, value;
};

// As few products as the inputs allow.
Projected project_all(Context& ctx, const Inputs& in, const MultiHeadWeights& weights, bool append_zeros) {
  const int64_t d = in.query.dim(-1);
  const bool appended = append_zeros || weights.bias_k.defined();
  if (weights.in_proj_weight.defined() && !appended && same(in.key, in.value)) {
    if (same(in.query, in.key)) {
      const Variable qkv = project(ctx, in.query, weights, 0, 3);
      return {{qkv, 0}, {qkv, d}, {qkv, 2 * d}};
    }
    const Variable q = project(ctx, in.query, weights, 0, 1), kv = project(ctx, in.key, weights, 1, 2);
    return {{q, 0}, {kv, 0}, {kv, d}};
  }
  const Variable q = project(ctx, in.query, weights, 0, 1);
  Variable k = project(ctx, in.key, weights, 1, 1), v = project(ctx, in.value, weights, 2, 1);
  if (weights.bias_k.defined()) {
    k = append_row(ctx, k, weights.bias_k);
    v = append_row(ctx, v, weights.bias_v);
  }
  if (append_zeros) {
    k = append_row(ctx, k, {});
    v = append_row(ctx, v, {});
  }
  return {{q, 0}, {k, 0}, {v, 0}};
}

ScoreMask mask_of(const MultiHeadOptions& options, const ScoreExtent& extent, bool batched) {
  std::array<MaskPart, 2> parts = {MaskPart{options.attn_mask, false}, MaskPart{options.key_padding_mask, false}};
  if (Tensor& mask = parts[0].values; mask.defined()) {
    const Shape one = {extent.q, extent.k}, each = {extent.b * extent.h, extent.q, extent.k};
    require(mask.shape() == one || mask.shape() == each, "{}: attn_mask has shape {} or {}, got {}", kName, one, each,
            mask.shape());
    const bool shared = mask.rank() == 2;
    mask = mask.contiguous().reshape({shared ? 1 : extent.b, shared ? 1 : extent.h, extent.q, extent.k});
  }
  if (Tensor& mask = parts[1].values; mask.defined()) {
    const Shape expected = batched ? Shape{extent.b, extent.k} : Shape{extent.k};
    require(mask.shape() == expected, "{}: key_padding_mask has shape {}, got {}", kName, expected, mask.shape());
    mask = mask.contiguous().reshape({extent.b, 1, 1, extent.k});
  }
  return combine_masks(kName, parts, extent, options.is_causal);
}

// weights (b, h, q, k) as the caller wants them.
Tensor reported(const Tensor& weights, bool average, bool batched) {
  const int64_t b = weights.dim(0), h = weights.dim(1), q = weights.dim(2), k = weights.dim(3);
  if (!average) return batched ? weights : weights.reshape({h, q, k});
  Tensor mean = Tensor::zeros({b, q, k});
  const Tensor heads = weights.reshape({b * h, q * k});
  Tensor means = mean.reshape({b, q * k});
  for (int64_t i = 0; i < b * h; ++i) {
    Tensor row = means.slice(0, i / h, i / h + 1);
    kernels::accumulate(matrix_view(heads.slice(0, i, i + 1)), matrix_view(row), 1.0f / static_cast<float>(h));
  }
  return batched ? mean : mean.reshape({q, k});
}

}  // namespace

AttentionOutput multi_head_attention(Context& ctx, const Variable& query, const Variable& key, const Variable& value,
                                     const MultiHeadWeights& weights, const MultiHeadOptions& options) {
  check_inputs(query, key, value);
  const bool batched = query.value().rank() == 3;
  const Inputs in{query, key, value};
  check_weights(in, weights, options);
  const ScoreExtent extent{.b = batched ? query.dim(0) : 1,
                           .h = options.num_heads,
                           .q = query.dim(-2),
                           .k = key.dim(-2),
                           .appended = (weights.bias_k.defined() ? 1 : 0) + (options.add_zero_attn ? 1 : 0)};
  const ScoreMask scores = mask_of(options, extent, batched);
  const Projected projected = project_all(ctx, in, weights, options.add_zero_attn);
  const Mask mask{.causal = scores.causal, .allowed = scores.allowed};
  const AttentionOptions attention_options{.heads = options.num_heads,
                                           .head_dim = query.dim(-1) / options.num_heads,
                                           .dropout = options.dropout_p,
                                           .need_weights = options.need_weights};
  AttentionOutput result =
      scores.additive.defined()
          ? scored_attention(ctx, projected.query, projected.key, projected.value, mask, attention_options,
                             {.additive = scores.additive})
          : attention(ctx, projected.query, projected.key, projected.value, mask, attention_options);
  result.output = linear(ctx, result.output, weights.out_proj_weight, weights.out_proj_bias);
  if (options.need_weights) result.weights = reported(result.weights, options.average_attn_weights, batched);
  return result;
}

}  // namespace weft::ops
