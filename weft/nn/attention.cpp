#include "weft/nn/attention.h"

#include <cstring>
#include <vector>

#include "weft/base/error.h"
#include "weft/kernels/linear_attention.h"
#include "weft/ops/attention.h"
#include "weft/ops/linear_attention.h"
#include "weft/ops/rotary.h"

namespace weft::nn {

namespace {

AttentionConfig checked(AttentionConfig config, const std::string& path) {
  require(config.heads > 0 && config.d_model > 0, "attention {}: heads and d_model are positive, got {} and {}", path,
          config.heads, config.d_model);
  if (config.kv_heads == 0) config.kv_heads = config.heads;
  require(config.kv_heads > 0 && config.heads % config.kv_heads == 0,
          "attention {}: heads {} is not a multiple of kv_heads {}", path, config.heads, config.kv_heads);
  if (config.head_dim == 0) {
    require(config.d_model % config.heads == 0, "attention {}: d_model {} is not a multiple of heads {}", path,
            config.d_model, config.heads);
    config.head_dim = config.d_model / config.heads;
  }
  require(!config.rotary || config.kind == AttentionKind::self, "attention {}: rotary positions are for self-attention",
          path);
  const bool by_distance = config.relative_distance > 0 || config.alibi || config.buckets;
  require(!by_distance || config.kind == AttentionKind::self,
          "attention {}: relative positions, ALiBi and buckets are for self-attention", path);
  require(config.relative_distance >= 0, "attention {}: relative_distance is 0 or more, got {}", path,
          config.relative_distance);
  if (config.weights == AttentionWeights::linear) {
    require(!by_distance && !config.rotary,
            "attention {}: linear attention has no scores that relative positions, ALiBi, buckets or rotary positions "
            "could change; use sinusoidal or learned positions",
            path);
    require(config.dropout == 0.0, "attention {}: linear attention has no weights to drop, but dropout is {}", path,
            config.dropout);
  }
  return config;
}

ops::AttentionOptions options_of(const AttentionConfig& config, const Context& ctx, const AttentionCall& call) {
  return {.heads = config.heads,
          .kv_heads = config.kv_heads,
          .head_dim = config.head_dim,
          .dropout = config.dropout,
          .need_weights = call.need_weights || ctx.trace != nullptr};
}

// Copies columns [column, column + width) of the rows of new tokens behind the tokens that the cache holds.
void append(const Tensor& rows, int64_t column, const std::vector<kernels::AttentionSegment>& segments,
            const KvCache& cache, Tensor& into) {
  const auto element = static_cast<int64_t>(size_of(rows.dtype()));
  const int64_t width = into.dim(-1);
  const int64_t row_bytes = rows.dim(-1) * element;
  for (size_t i = 0; i < segments.size(); ++i) {
    const int64_t first = cache.first_row(static_cast<int64_t>(i)) + cache.length(static_cast<int64_t>(i));
    for (int64_t t = 0; t < segments[i].q_length; ++t) {
      std::memcpy(into.raw() + (first + t) * width * element,
                  rows.raw() + (segments[i].q_begin + t) * row_bytes + column * element,
                  static_cast<size_t>(width * element));
    }
  }
}

}  // namespace

Attention::Attention(Scope scope, const AttentionConfig& config)
    : config_(checked(config, scope.path())), path_(scope.path()) {
  const int64_t q_width = config_.heads * config_.head_dim;
  const int64_t kv_width = config_.kv_heads * config_.head_dim;
  const auto projection = [&](int64_t out, int64_t fan_out) {
    return LinearConfig{.in = config_.d_model,
                        .out = out,
                        .bias = config_.bias,
                        .weight = config_.initialisation.weight(config_.d_model, fan_out)};
  };
  if (config_.kind == AttentionKind::self) {
    qkv_.emplace(scope / "qkv", projection(q_width + 2 * kv_width, q_width));
  } else {
    query_.emplace(scope / "query", projection(q_width, q_width));
    kv_.emplace(scope / "kv", projection(2 * kv_width, kv_width));
  }
  scored_ = config_.weights == AttentionWeights::hard || config_.relative_distance > 0 || config_.alibi ||
            config_.buckets.has_value();
  if (config_.relative_distance > 0) {
    const int64_t rows = 2 * config_.relative_distance + 1;
    const Initialiser initialiser = config_.initialisation.weight(config_.head_dim, rows);
    relative_keys_ = &(scope / "relative").parameter("keys", {rows, config_.head_dim}, initialiser);
    relative_values_ = &(scope / "relative").parameter("values", {rows, config_.head_dim}, initialiser);
  }
  if (config_.alibi) slopes_ = ops::alibi_slopes(config_.heads);
  if (config_.buckets) {
    ops::bucket_of(*config_.buckets, 0);  // checks the numbers
    bucket_bias_ = &(scope / "bucket_bias")
                        .parameter("weight", {config_.buckets->buckets, config_.heads},
                                   config_.initialisation.weight(config_.buckets->buckets, config_.heads));
  }
  output_.emplace(scope / "output",
                  LinearConfig{.in = q_width,
                               .out = config_.d_model,
                               .bias = config_.bias,
                               .weight = config_.initialisation.residual_weight(q_width, config_.d_model)});
}

AttentionResult Attention::forward(Context& ctx, const Variable& query, const Variable& memory,
                                   const AttentionCall& call) const {
  require(query.defined() && query.dim(-1) == config_.d_model, "attention {}: queries are (…, {}), got {}", path_,
          config_.d_model, query.defined() ? query.shape() : Shape{});
  AttentionResult result;
  if (config_.kind == AttentionKind::self) {
    require(!memory.defined() || memory.value().raw() == query.value().raw(),
            "attention {}: self-attention has no memory but its queries; configure it as cross-attention", path_);
    result = attend_self(ctx, query, call);
  } else {
    result = attend_cross(ctx, query, memory, call);
  }
  if (ctx.trace != nullptr) ctx.trace->entries.push_back({path_, result.weights});
  if (!call.need_weights) result.weights = Tensor();
  result.output = output_->forward(ctx, result.output);
  return result;
}

AttentionResult Attention::attend(Context& ctx, const ops::HeadsSource& query, const ops::HeadsSource& key,
                                  const ops::HeadsSource& value, const Mask& mask, const AttentionCall& call,
                                  std::span<float* const> states) const {
  const ops::AttentionOptions options = options_of(config_, ctx, call);
  ops::AttentionOutput output;
  if (config_.weights == AttentionWeights::linear) {
    output = ops::linear_attention(ctx, query, key, value, mask, options, states);
  } else if (scored_) {
    const auto table = [](const Parameter* parameter) { return parameter ? Variable(*parameter) : Variable(); };
    const bool hard = config_.weights == AttentionWeights::hard;
    ops::AttentionScoring scoring{.rule = hard ? kernels::WeightRule::hard : kernels::WeightRule::softmax,
                                  .relative_keys = table(relative_keys_),
                                  .relative_values = table(relative_values_),
                                  .slopes = slopes_,
                                  .bucket_bias = table(bucket_bias_)};
    if (config_.buckets) scoring.buckets = *config_.buckets;
    output = ops::scored_attention(ctx, query, key, value, mask, options, scoring);
  } else {
    output = ops::attention(ctx, query, key, value, mask, options);
  }
  return {std::move(output.output), std::move(output.weights)};
}

AttentionResult Attention::attend_self(Context& ctx, const Variable& x, const AttentionCall& call) const {
  Variable qkv = qkv_->forward(ctx, x);
  if (config_.rotary) {
    require(call.position_ids.defined(), "attention {}: rotary positions need position ids", path_);
    qkv = ops::rotary(ctx, qkv, *config_.rotary, config_.heads + config_.kv_heads, config_.head_dim, call.position_ids);
  }
  if (call.cache != nullptr) return attend_cached(ctx, qkv, call);
  const int64_t keys = config_.heads * config_.head_dim;
  const int64_t values = keys + config_.kv_heads * config_.head_dim;
  return attend(ctx, {qkv, 0}, {qkv, keys}, {qkv, values}, call.mask, call);
}

AttentionResult Attention::attend_cached(Context& ctx, const Variable& qkv, const AttentionCall& call) const {
  KvCache& cache = *call.cache;
  require(!qkv.edge().wanted(), "attention {}: a cache serves inference; run without a tape", path_);
  require(static_cast<int64_t>(call.mask.segments.size()) == cache.batch(),
          "attention {}: the mask has {} sequences, the cache {}", path_, call.mask.segments.size(), cache.batch());
  const bool linear = config_.weights == AttentionWeights::linear;
  require(linear == cache.holds_states(), "attention {}: linear attention has a cache of states, and no other", path_);
  if (linear) return attend_states(ctx, qkv, call);
  KvCacheLayer& layer = cache.layer(call.cache_layer);
  require(layer.keys.dtype() == qkv.dtype(), "attention {}: the cache holds {}, the precision asks for {}", path_,
          name_of(layer.keys.dtype()), name_of(qkv.dtype()));
  Mask mask = call.mask;
  for (int64_t i = 0; i < cache.batch(); ++i) {
    kernels::AttentionSegment& segment = mask.segments[static_cast<size_t>(i)];
    segment.k_begin = cache.first_row(i);
    segment.k_length = cache.length(i) + segment.q_length;
    require(segment.k_length <= cache.capacity(), "attention {}: sequence {} would have {} tokens, the cache holds {}",
            path_, i, segment.k_length, cache.capacity());
  }
  const int64_t keys = config_.heads * config_.head_dim;
  const int64_t values = keys + config_.kv_heads * config_.head_dim;
  append(qkv.value(), keys, mask.segments, cache, layer.keys);
  append(qkv.value(), values, mask.segments, cache, layer.values);
  return attend(ctx, {qkv, 0}, {layer.keys, 0}, {layer.values, 0}, mask, call);
}

AttentionResult Attention::attend_states(Context& ctx, const Variable& qkv, const AttentionCall& call) const {
  KvCache& cache = *call.cache;
  Tensor& layer = cache.layer(call.cache_layer).states;
  const int64_t size = kernels::linear_state_size(config_.kv_heads, config_.head_dim, config_.head_dim);
  require(layer.dim(-1) == size, "attention {}: the cache has states of {} numbers, expected {}", path_, layer.dim(-1),
          size);
  std::vector<float*> states;
  for (int64_t i = 0; i < cache.batch(); ++i) {
    const int64_t length = cache.length(i) + call.mask.segments[static_cast<size_t>(i)].q_length;
    require(length <= cache.capacity(), "attention {}: sequence {} would have {} tokens, the cache holds {}", path_, i,
            length, cache.capacity());
    states.push_back(layer.data<float>() + cache.slot(i) * size);
  }
  const int64_t keys = config_.heads * config_.head_dim;
  const int64_t values = keys + config_.kv_heads * config_.head_dim;
  return attend(ctx, {qkv, 0}, {qkv, keys}, {qkv, values}, call.mask, call, states);
}

Variable Attention::project_memory(Context& ctx, const Variable& memory) const {
  require(config_.kind == AttentionKind::cross, "attention {}: only cross-attention has a memory", path_);
  require(memory.defined() && memory.dim(-1) == config_.d_model, "attention {}: the memory is (…, {}), got {}", path_,
          config_.d_model, memory.defined() ? memory.shape() : Shape{});
  return kv_->forward(ctx, memory);
}

AttentionResult Attention::attend_cross(Context& ctx, const Variable& query, const Variable& memory,
                                        const AttentionCall& call) const {
  const Variable q = query_->forward(ctx, query);
  const Variable kv = call.projected_memory.defined() ? call.projected_memory : project_memory(ctx, memory);
  return attend(ctx, {q, 0}, {kv, 0}, {kv, config_.kv_heads * config_.head_dim}, call.mask, call);
}

}  // namespace weft::nn
