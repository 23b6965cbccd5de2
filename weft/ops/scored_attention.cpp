#include "weft/ops/scored_attention.h"

#include <cmath>

#include "weft/base/error.h"
#include "weft/ops/attention_problem.h"

namespace weft::ops {

namespace {

struct SavedScoring {
  SavedAttention attention;
  AttentionScoring scoring;
  std::vector<int32_t> bucket_of;  // of the distances −bucket_zero, …, bucket_zero
  int64_t bucket_zero = 0;
};

void check_table(std::string_view name, const Variable& table, int64_t columns) {
  if (!table.defined()) return;
  require(table.value().rank() == 2 && table.dim(1) == columns && table.dtype() == DType::f32,
          "attention: {} is (…, {}) f32, got {} {}", name, columns, name_of(table.dtype()), table.shape());
}

void check(const AttentionScoring& scoring, const AttentionOptions& options) {
  check_table("the table of relative keys", scoring.relative_keys, options.head_dim);
  check_table("the table of relative values", scoring.relative_values, options.head_dim);
  check_table("the bucket bias", scoring.bucket_bias, options.heads);
  const Variable& keys = scoring.relative_keys;
  const Variable& values = scoring.relative_values;
  require(!keys.defined() || keys.dim(0) % 2 == 1,
          "attention: the table of relative keys has 2 · max_distance + 1 rows, got {}", keys.shape());
  require(keys.defined() == values.defined() && (!keys.defined() || keys.dim(0) == values.dim(0)),
          "attention: relative keys and values come together, with as many rows");
  require(!scoring.slopes.defined() || scoring.slopes.numel() == options.heads,
          "attention: one slope per head, got {} for {}", scoring.slopes.shape(), options.heads);
  require(!scoring.bucket_bias.defined() || scoring.bucket_bias.dim(0) == scoring.buckets.buckets,
          "attention: the bucket bias has {} rows, there are {} buckets", scoring.bucket_bias.shape(),
          scoring.buckets.buckets);
  require(!scoring.additive.defined() || scoring.additive.dtype() == DType::f32,
          "attention: the additive mask is f32, got {}", name_of(scoring.additive.dtype()));
}

kernels::AdditiveMask additive_of(const SavedScoring& saved) {
  const Tensor& additive = saved.scoring.additive;
  if (!additive.defined()) return {};
  const MaskStrides strides = mask_strides(additive, saved.attention);
  return {additive.data<float>(), strides.segment, strides.head, strides.query};
}

kernels::ScoredAttention call_of(const SavedScoring& saved) {
  const SavedAttention& attention = saved.attention;
  const auto table = [](const Variable& variable) {
    return variable.defined() ? variable.value().data<float>() : nullptr;
  };
  const auto source = [&](size_t i) {
    return heads_at<kernels::ConstHeads>(attention.sources[i].source.value(), attention.sources[i].column,
                                         attention.problem.head_dim);
  };
  kernels::ScoredAttention call{.problem = attention.problem,
                                .rule = saved.scoring.rule,
                                .terms = {},
                                .additive = additive_of(saved),
                                .q = source(0),
                                .k = source(1),
                                .v = source(2)};
  call.problem.segments = attention.segments;
  call.terms.relative_keys = table(saved.scoring.relative_keys);
  call.terms.relative_values = table(saved.scoring.relative_values);
  if (saved.scoring.relative_keys.defined()) call.terms.max_distance = (saved.scoring.relative_keys.dim(0) - 1) / 2;
  if (saved.scoring.slopes.defined()) call.terms.slopes = saved.scoring.slopes.data<float>();
  call.terms.bucket_bias = table(saved.scoring.bucket_bias);
  call.terms.bucket_of = saved.bucket_of;
  call.terms.bucket_zero = saved.bucket_zero;
  return call;
}

void backward(BackwardPass& pass, const SavedScoring& saved, const Tensor& dy) {
  std::array<size_t, 3> where{};
  std::vector<SourceGradient> gradients = make_gradients(pass, saved.attention, where);
  const int64_t head_dim = saved.attention.problem.head_dim;
  const auto view = [&](size_t i) {
    return heads_at<kernels::MutableHeads>(gradients[where[i]].tensor, saved.attention.sources[i].column, head_dim);
  };
  kernels::ScoredAttentionGradients out{.dq = view(0), .dk = view(1), .dv = view(2)};
  const AttentionScoring& scoring = saved.scoring;
  std::array<Tensor, 3> tables;
  const auto zeros = [&](size_t i, const Variable& table) -> float* {
    if (!table.defined() || !table.edge().wanted()) return nullptr;
    tables[i] = Tensor::zeros(table.shape());
    return tables[i].data<float>();
  };
  out.relative_keys = zeros(0, scoring.relative_keys);
  out.relative_values = zeros(1, scoring.relative_values);
  out.bucket_bias = zeros(2, scoring.bucket_bias);
  kernels::scored_attention_backward(call_of(saved), heads_view(dy, head_dim), out);
  finish_gradients(pass, gradients);
  const std::array<const Variable*, 3> variables = {&scoring.relative_keys, &scoring.relative_values,
                                                    &scoring.bucket_bias};
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i].defined()) pass.add(variables[i]->edge(), std::move(tables[i]));
  }
}

}  // namespace

int64_t bucket_of(const DistanceBuckets& buckets, int64_t distance) {
  int64_t count = buckets.buckets, bucket = 0;
  if (buckets.bidirectional) {
    count /= 2;
    if (distance > 0) bucket = count;
    distance = std::abs(distance);
  } else {
    distance = std::max<int64_t>(0, -distance);
  }
  const int64_t exact = count / 2;
  require(exact >= 1 && buckets.max_distance > exact,
          "attention: {} distance buckets up to distance {}: expected at least {} buckets, and a distance beyond {}",
          buckets.buckets, buckets.max_distance, buckets.bidirectional ? 4 : 2, exact);
  if (distance < exact) return bucket + distance;
  const double share = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(buckets.max_distance) / static_cast<double>(exact));
  return bucket + std::min(count - 1, exact + static_cast<int64_t>(share * static_cast<double>(count - exact)));
}

Tensor alibi_slopes(int64_t heads) {
  require(heads > 0, "attention: ALiBi needs a positive number of heads, got {}", heads);
  int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  Tensor slopes = Tensor::empty({heads});
  for (int64_t h = 0; h < heads; ++h) {
    const double exponent = h < power ? 8.0 * static_cast<double>(h + 1) / static_cast<double>(power)
                                      : 4.0 * static_cast<double>(2 * (h - power) + 1) / static_cast<double>(power);
    slopes.data<float>()[h] = static_cast<float>(std::exp2(-exponent));
  }
  return slopes;
}

AttentionOutput scored_attention(Context& ctx, const HeadsSource& query, const HeadsSource& key,
                                 const HeadsSource& value, const Mask& mask, const AttentionOptions& options,
                                 const AttentionScoring& scoring) {
  check(scoring, options);
  SavedScoring saved;
  saved.attention = describe_attention(ctx, {query, key, value}, mask, options);
  saved.scoring = scoring;
  if (scoring.bucket_bias.defined()) {
    saved.bucket_zero = std::max(saved.attention.max_q, saved.attention.max_k);
    for (int64_t distance = -saved.bucket_zero; distance <= saved.bucket_zero; ++distance) {
      saved.bucket_of.push_back(static_cast<int32_t>(bucket_of(scoring.buckets, distance)));
    }
  }
  Tensor output = Tensor::empty(query.source.shape().with_last(options.heads * options.head_dim), query.source.dtype());
  if (covered_rows(saved.attention.segments, false) != rows_of(query.source)) output.fill_zero();
  AttentionOutput result;
  if (options.need_weights) {
    result.weights = Tensor::empty({static_cast<int64_t>(saved.attention.segments.size()), options.heads,
                                    saved.attention.max_q, saved.attention.max_k});
  }
  kernels::scored_attention_forward(call_of(saved), heads_view(output, options.head_dim),
                                    options.need_weights ? result.weights.data<float>() : nullptr);
  result.output = record(ctx, "scored_attention",
                         {&query.source, &key.source, &value.source, &scoring.relative_keys, &scoring.relative_values,
                          &scoring.bucket_bias},
                         std::move(output), [saved = std::move(saved)](BackwardPass& pass, const Tensor& dy) {
                           backward(pass, saved, dy);
                         });
  return result;
}

}  // namespace weft::ops
