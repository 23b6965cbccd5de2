#pragma once

#include <optional>
#include <span>

#include "weft/autograd/context.h"
#include "weft/kernels/rotary.h"
#include "weft/nn/initialisation.h"
#include "weft/nn/kv_cache.h"
#include "weft/nn/linear.h"
#include "weft/ops/mask.h"
#include "weft/ops/scored_attention.h"

namespace weft::nn {

// Where keys and values come from: the queries' own sequence, or another one (the encoder's output).
enum class AttentionKind { self, cross };

// How queries and keys make the weights of the values:
//   softmax  softmax(Q·Kᵀ)                                     (Vaswani et al. 2017)
//   hard     1 on the best key, see kernels::WeightRule
//   linear   φ(Q)·φ(K)ᵀ over its row sums, φ = elu + 1, in time and memory that grow with the tokens, see
//            ops/linear_attention.h; neither dropout of the weights, nor rotary positions, nor those that change scores
enum class AttentionWeights { softmax, hard, linear };

struct AttentionConfig {
  AttentionKind kind = AttentionKind::self;
  int64_t d_model = 0;
  int64_t heads = 1;
  int64_t kv_heads = 0;  // divides heads; 0: heads; 1: multi-query (Shazeer 2019)
  int64_t head_dim = 0;  // 0: d_model / heads
  bool bias = true;
  double dropout = 0.0;  // of the weights
  std::optional<kernels::Rotary> rotary{};
  AttentionWeights weights = AttentionWeights::softmax;
  // What is added to the scores; see ops/scored_attention.h. For self-attention.
  int64_t relative_distance = 0;                  // relative positions up to this distance (Shaw et al. 2018); 0: none
  bool alibi = false;                             // linear biases (Press et al. 2022)
  std::optional<ops::DistanceBuckets> buckets{};  // T5's bucketed bias, a table per layer
  WeightInitialisation initialisation{};
};

// What differs from call to call.
struct AttentionCall {
  Mask mask{};
  Tensor position_ids{};  // i32, one per query row; needed with rotary positions
  // Self-attention: keys and values of earlier tokens, the new ones are written behind them; with linear weights their
  // states, to which the new ones are added.
  KvCache* cache = nullptr;
  int64_t cache_layer = 0;
  bool need_weights = false;
  // Cross-attention: what project_memory() made of the memory, which forward() then does not need.
  Variable projected_memory{};
};

struct AttentionResult {
  Variable output;  // (…, d_model)
  Tensor weights;   // (b, h, q, k) f32; undefined unless asked for
};

// Multi-head attention (Vaswani et al. 2017) with its projections; grouped, multi-query, causal and cross are settings.
// Parameters: self: qkv.weight ((heads + 2 · kv_heads) · head_dim, d_model) with rows [queries | keys | values],
// qkv.bias; cross: query.weight, query.bias, kv.weight (2 · kv_heads · head_dim, d_model), kv.bias; both: output.weight
// (d_model, heads · head_dim), output.bias; with relative positions relative.keys and relative.values
// (2 · relative_distance + 1, head_dim), with buckets bucket_bias.weight (buckets, heads).
class Attention {
 public:
  Attention(Scope scope, const AttentionConfig& config);

  // query (…, d_model); memory (…, d_model) for cross, undefined or the query itself for self. Maps go to ctx.trace as
  // well.
  AttentionResult forward(Context& ctx, const Variable& query, const Variable& memory,
                          const AttentionCall& call = {}) const;

  // Cross-attention: the keys and values of memory (…, d_model), (…, 2 · kv_heads · head_dim). A decoder asks for them
  // once per source and attends to them at every step.
  Variable project_memory(Context& ctx, const Variable& memory) const;

 private:
  AttentionResult attend_self(Context& ctx, const Variable& x, const AttentionCall& call) const;
  AttentionResult attend_cross(Context& ctx, const Variable& query, const Variable& memory,
                               const AttentionCall& call) const;
  AttentionResult attend_cached(Context& ctx, const Variable& qkv, const AttentionCall& call) const;
  AttentionResult attend_states(Context& ctx, const Variable& qkv, const AttentionCall& call) const;

  // softmax(Q·Kᵀ)·V or what the configuration makes of it. `states` for linear weights alone.
  AttentionResult attend(Context& ctx, const ops::HeadsSource& query, const ops::HeadsSource& key,
                         const ops::HeadsSource& value, const Mask& mask, const AttentionCall& call,
                         std::span<float* const> states = {}) const;

  AttentionConfig config_;
  std::string path_;
  bool scored_ = false;  // something beyond softmax(Q·Kᵀ) is asked for
  Tensor slopes_;
  const Parameter* relative_keys_ = nullptr;
  const Parameter* relative_values_ = nullptr;
  const Parameter* bucket_bias_ = nullptr;
  std::optional<Linear> qkv_, query_, kv_;
  std::optional<Linear> output_;
};

}  // namespace weft::nn
