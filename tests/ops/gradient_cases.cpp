#include <array>

#include "tests/ops/gradient_check.h"
#include "weft/ops/activation.h"
#include "weft/ops/add.h"
#include "weft/ops/append_row.h"
#include "weft/ops/attention.h"
#include "weft/ops/cross_entropy.h"
#include "weft/ops/dropout.h"
#include "weft/ops/embedding.h"
#include "weft/ops/linear.h"
#include "weft/ops/linear_attention.h"
#include "weft/ops/multi_head_attention.h"
#include "weft/ops/norm.h"
#include "weft/ops/rotary.h"
#include "weft/ops/rows.h"
#include "weft/ops/scaled_dot_product_attention.h"
#include "weft/ops/scored_attention.h"

namespace weft::testing {

namespace {

using kernels::Activation;
using Inputs = std::vector<Variable>;

constexpr std::array kActivations = {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu,
                                     Activation::tanh};
constexpr std::array kActivationNames = {"relu", "gelu", "gelu_tanh", "silu", "tanh"};

void add_linear_cases(std::vector<GradientCase>& cases) {
  cases.push_back(
      {"linear", {{5, 7}, {6, 7}}, [](Context& ctx, const Inputs& in) { return ops::linear(ctx, in[0], in[1], {}); }});
  cases.push_back({"linear_bias_3d", {{2, 3, 4}, {5, 4}, {5}}, [](Context& ctx, const Inputs& in) {
                     return ops::linear(ctx, in[0], in[1], in[2]);
                   }});
  for (size_t i = 0; i < kActivations.size(); ++i) {
    const Activation activation = kActivations[i];
    cases.push_back(
        {std::string("linear_") + kActivationNames[i],
         {{4, 6}, {5, 6}, {5}},
         [activation](Context& ctx, const Inputs& in) { return ops::linear(ctx, in[0], in[1], in[2], activation); }});
    cases.push_back({std::string("activation_") + kActivationNames[i],
                     {{3, 9}},
                     [activation](Context& ctx, const Inputs& in) { return ops::activation(ctx, in[0], activation); }});
    cases.push_back(
        {std::string("gated_") + kActivationNames[i], {{3, 10}}, [activation](Context& ctx, const Inputs& in) {
           return ops::gated_activation(ctx, in[0], activation);
         }});
  }
  // One input twice: both contributions have to arrive.
  cases.push_back({"linear_shared_input", {{4, 4}, {4, 4}}, [](Context& ctx, const Inputs& in) {
                     const Variable y = ops::linear(ctx, in[0], in[1], {});
                     return ops::add(ctx, ops::linear(ctx, y, in[1], {}), in[0], 0.5f);
                   }});
}

void add_norm_cases(std::vector<GradientCase>& cases) {
  for (const auto kind : {kernels::NormKind::layer_norm, kernels::NormKind::rms_norm}) {
    const std::string name = kind == kernels::NormKind::layer_norm ? "layer_norm" : "rms_norm";
    cases.push_back({name, {{3, 2, 8}, {8}}, [kind](Context& ctx, const Inputs& in) {
                       return ops::norm(ctx, in[0], in[1], {}, {.kind = kind});
                     }});
    for (const double dropout : {0.0, 0.4}) {
      cases.push_back({"add_" + name + (dropout > 0 ? "_dropout" : ""),
                       {{5, 8}, {5, 8}, {8}},
                       [kind, dropout](Context& ctx, const Inputs& in) {
                         const auto result =
                             ops::add_norm(ctx, in[0], in[1], in[2], {}, {.kind = kind, .dropout = dropout});
                         return ops::add(ctx, result.normalised, result.sum, 0.3f);
                       },
                       dropout > 0});
    }
  }
  cases.push_back({"layer_norm_beta", {{4, 8}, {8}, {8}}, [](Context& ctx, const Inputs& in) {
                     return ops::norm(ctx, in[0], in[1], in[2], {});
                   }});
  // Only one of the two results is used: the other's gradient is absent, not zero.
  cases.push_back({"add_norm_normalised_only", {{4, 8}, {4, 8}, {8}, {8}}, [](Context& ctx, const Inputs& in) {
                     return ops::add_norm(ctx, in[0], in[1], in[2], in[3], {}).normalised;
                   }});
  cases.push_back({"add_norm_sum_only", {{4, 8}, {4, 8}}, [](Context& ctx, const Inputs& in) {
                     return ops::add_norm(ctx, in[0], in[1], Tensor::full({8}, 1.0f), {}, {}).sum;
                   }});
}

void add_elementwise_cases(std::vector<GradientCase>& cases) {
  cases.push_back({"add_scaled", {{3, 5}, {3, 5}}, [](Context& ctx, const Inputs& in) {
                     return ops::add(ctx, in[0], in[1], -2.0f);
                   }});
  cases.push_back(
      {"dropout", {{6, 7}}, [](Context& ctx, const Inputs& in) { return ops::dropout(ctx, in[0], 0.3); }, true});
  cases.push_back({"add_dropout",
                   {{6, 7}, {6, 7}},
                   [](Context& ctx, const Inputs& in) { return ops::add_dropout(ctx, in[0], in[1], 0.3); },
                   true});
  cases.push_back({"embedding",
                   {{5, 6}, {4, 6}},
                   [](Context& ctx, const Inputs& in) {
                     return ops::embedding(ctx, in[0], int_tensor({1, 4, 1, 0}), in[1], int_tensor({0, 1, 2, 2}),
                                           {.scale = 1.5f, .dropout = 0.25});
                   },
                   true});
  cases.push_back({"select_rows", {{5, 4}}, [](Context& ctx, const Inputs& in) {
                     return ops::select_rows(ctx, in[0], int_tensor({3, 0, 3}));
                   }});
  for (const auto layout : {kernels::RotaryLayout::interleaved, kernels::RotaryLayout::half_split}) {
    cases.push_back({layout == kernels::RotaryLayout::interleaved ? "rotary_interleaved" : "rotary_half_split",
                     {{3, 20}},
                     [layout](Context& ctx, const Inputs& in) {
                       return ops::rotary(ctx, in[0], {layout, 4, 100.0}, 2, 6, int_tensor({0, 5, 11}));
                     }});
  }
}

void add_loss_cases(std::vector<GradientCase>& cases) {
  for (const float smoothing : {0.0f, 0.1f}) {
    const ops::CrossEntropyOptions options{.ignore_id = -1, .label_smoothing = smoothing};
    const std::string suffix = smoothing > 0 ? "_smoothed" : "";
    cases.push_back({"cross_entropy" + suffix, {{4, 6}}, [options](Context& ctx, const Inputs& in) {
                       return ops::cross_entropy(ctx, in[0], int_tensor({2, -1, 5, 0}), options);
                     }});
    cases.push_back({"linear_cross_entropy" + suffix, {{4, 3}, {6, 3}, {6}}, [options](Context& ctx, const Inputs& in) {
                       return ops::linear_cross_entropy(ctx, in[0], in[1], in[2], int_tensor({2, -1, 5, 0}), options);
                     }});
  }
  // The gradient of the loss itself is not one: what was computed ahead has to be scaled.
  cases.push_back({"linear_cross_entropy_scaled", {{4, 3}, {6, 3}}, [](Context& ctx, const Inputs& in) {
                     const Variable loss = ops::linear_cross_entropy(ctx, in[0], in[1], {}, int_tensor({2, 1, 5, 0}));
                     return ops::add(ctx, Tensor::scalar(0.0f), loss, 3.0f);
                   }});
}

Tensor allowed_mask(const Shape& shape) {
  Tensor mask = Tensor::empty(shape, DType::boolean);
  const Rng rng{3, 0};
  for (int64_t i = 0; i < mask.numel(); ++i) mask.data<bool>()[i] = rng.bernoulli(0.6, static_cast<uint64_t>(i));
  // Query 1 of everything may attend to nothing.
  const int64_t k = shape[-1], q = shape[-2];
  for (int64_t m = 0; m < mask.numel() / (q * k); ++m) {
    for (int64_t j = 0; j < k; ++j) mask.data<bool>()[m * q * k + k + j] = false;
  }
  return mask;
}

GradientCase self_attention_case(std::string name, Mask mask, ops::AttentionOptions options) {
  const int64_t kv = options.kv_heads == 0 ? options.heads : options.kv_heads;
  const int64_t width = options.heads * options.head_dim;
  const int64_t kv_width = kv * options.head_dim;
  return {std::move(name),
          {{8, width + 2 * kv_width}},
          [=](Context& ctx, const Inputs& in) {
            return ops::attention(ctx, {in[0], 0}, {in[0], width}, {in[0], width + kv_width}, mask, options).output;
          },
          options.dropout > 0.0};
}

void add_attention_cases(std::vector<GradientCase>& cases) {
  const std::array<int64_t, 3> packed = {0, 3, 8};
  const std::array<int64_t, 2> lengths = {4, 2};
  Mask masked = Mask::packed(std::array<int64_t, 2>{0, 8}, false);
  masked.allowed = allowed_mask({1, 2, 8, 8});
  const ops::AttentionOptions two_heads{.heads = 2, .head_dim = 5};
  cases.push_back(self_attention_case("attention", {}, two_heads));
  cases.push_back(self_attention_case("attention_causal", {.causal = true}, two_heads));
  cases.push_back(self_attention_case("attention_packed_causal", Mask::packed(packed, true), two_heads));
  cases.push_back(self_attention_case("attention_padded", Mask::padded(lengths, 4, false), two_heads));
  cases.push_back(self_attention_case("attention_padded_causal", Mask::padded(lengths, 4, true), two_heads));
  cases.push_back(self_attention_case("attention_masked", masked, two_heads));
  cases.push_back(self_attention_case("attention_grouped", Mask::packed(packed, true),
                                      {.heads = 4, .kv_heads = 2, .head_dim = 3, .scale = 0.7f}));
  cases.push_back(self_attention_case("attention_multi_query", {}, {.heads = 3, .kv_heads = 1, .head_dim = 4}));
  cases.push_back(self_attention_case("attention_dropout", Mask::packed(packed, true),
                                      {.heads = 2, .head_dim = 5, .dropout = 0.3}));
  cases.push_back(self_attention_case("attention_explicit", Mask::packed(packed, true),
                                      {.heads = 2, .head_dim = 5, .need_weights = true}));
  const std::array<int64_t, 3> queries = {0, 2, 4};
  cases.push_back({"attention_cross", {{4, 10}, {8, 20}}, [=](Context& ctx, const Inputs& in) {
                     return ops::attention(ctx, {in[0], 0}, {in[1], 0}, {in[1], 10},
                                           Mask::packed_cross(queries, packed), two_heads)
                         .output;
                   }});
  // Queries, keys and values of their own, and one source used for two purposes beside this.
  cases.push_back({"attention_separate", {{2, 4, 10}, {2, 4, 10}, {2, 4, 10}}, [=](Context& ctx, const Inputs& in) {
                     const Variable y = ops::attention(ctx, {in[0], 0}, {in[1], 0}, {in[2], 0}, {}, two_heads).output;
                     return ops::add(ctx, y, in[0]);
                   }});
}

// A self-attention whose scores know the distance: inputs are the fused rows and the tables.
GradientCase scored_case(const std::string& name, const Mask& mask, const ops::AttentionOptions& options,
                         const std::function<ops::AttentionScoring(const Inputs&)>& scoring,
                         std::vector<Shape> tables) {
  const int64_t kv_heads = options.kv_heads == 0 ? options.heads : options.kv_heads;
  const int64_t keys = options.heads * options.head_dim, values = keys + kv_heads * options.head_dim;
  tables.insert(tables.begin(), Shape{8, values + kv_heads * options.head_dim});
  return {name, tables, [=](Context& ctx, const Inputs& in) {
            return ops::scored_attention(ctx, {in[0], 0}, {in[0], keys}, {in[0], values}, mask, options, scoring(in))
                .output;
          }};
}

void add_scored_attention_cases(std::vector<GradientCase>& cases) {
  const std::array<int64_t, 3> packed = {0, 3, 8};
  const std::array<int64_t, 2> lengths = {4, 2};
  const ops::AttentionOptions two_heads{.heads = 2, .head_dim = 5};
  const ops::AttentionOptions grouped{.heads = 4, .kv_heads = 2, .head_dim = 3, .scale = 0.7f};
  const auto relative = [](const Inputs& in) {
    return ops::AttentionScoring{.relative_keys = in[1], .relative_values = in[2]};
  };
  cases.push_back(
      scored_case("scored_attention_relative", Mask::padded(lengths, 4, false), two_heads, relative, {{5, 5}, {5, 5}}));
  cases.push_back(scored_case("scored_attention_relative_causal_grouped", Mask::packed(packed, true), grouped, relative,
                              {{3, 3}, {3, 3}}));
  cases.push_back(scored_case("scored_attention_relative_dropout", Mask::packed(packed, true),
                              {.heads = 2, .head_dim = 5, .dropout = 0.3}, relative, {{5, 5}, {5, 5}}));
  const Tensor slopes = ops::alibi_slopes(4);
  cases.push_back(scored_case("scored_attention_alibi", Mask::packed(packed, true), grouped,
                              [=](const Inputs&) { return ops::AttentionScoring{.slopes = slopes}; }, {}));
  for (const bool bidirectional : {false, true}) {
    const auto buckets = [=](const Inputs& in) {
      return ops::AttentionScoring{.bucket_bias = in[1],
                                   .buckets = {.buckets = 6, .max_distance = 7, .bidirectional = bidirectional}};
    };
    cases.push_back(scored_case(fmt::format("scored_attention_buckets_{}", bidirectional ? "both" : "causal"),
                                Mask::packed(packed, !bidirectional), two_heads, buckets, {{6, 2}}));
  }
  const std::array<int64_t, 3> queries = {0, 2, 4};
  cases.push_back({"scored_attention_cross", {{4, 10}, {8, 20}, {5, 5}, {5, 5}}, [=](Context& ctx, const Inputs& in) {
                     return ops::scored_attention(ctx, {in[0], 0}, {in[1], 0}, {in[1], 10},
                                                  Mask::packed_cross(queries, packed), two_heads,
                                                  {.relative_keys = in[2], .relative_values = in[3]})
                         .output;
                   }});
}

void add_linear_attention_cases(std::vector<GradientCase>& cases) {
  const std::array<int64_t, 3> packed = {0, 3, 8};
  const std::array<int64_t, 2> lengths = {4, 2};
  const ops::AttentionOptions two_heads{.heads = 2, .head_dim = 5};
  const auto self = [&](const std::string& name, const Mask& mask, const ops::AttentionOptions& options) {
    const int64_t kv_heads = options.kv_heads == 0 ? options.heads : options.kv_heads;
    const int64_t keys = options.heads * options.head_dim, values = keys + kv_heads * options.head_dim;
    cases.push_back(
        {"linear_attention" + name, {{8, values + kv_heads * options.head_dim}}, [=](Context& ctx, const Inputs& in) {
           return ops::linear_attention(ctx, {in[0], 0}, {in[0], keys}, {in[0], values}, mask, options).output;
         }});
  };
  self("", {}, two_heads);
  self("_causal", {.causal = true}, two_heads);
  self("_packed_causal", Mask::packed(packed, true), two_heads);
  self("_padded", Mask::padded(lengths, 4, false), two_heads);
  self("_padded_causal", Mask::padded(lengths, 4, true), two_heads);
  self("_grouped", Mask::packed(packed, true), {.heads = 4, .kv_heads = 2, .head_dim = 3});
  Mask masked = Mask::packed(std::array<int64_t, 2>{0, 8}, false);
  masked.allowed = allowed_mask({1, 2, 8, 8});
  self("_masked", masked, two_heads);
  masked.causal = true;
  self("_masked_causal_grouped", masked, {.heads = 2, .kv_heads = 1, .head_dim = 4});
  self("_with_weights", Mask::packed(packed, true), {.heads = 2, .head_dim = 5, .need_weights = true});
  const std::array<int64_t, 3> queries = {0, 2, 4};
  cases.push_back({"linear_attention_cross", {{4, 10}, {8, 20}}, [=](Context& ctx, const Inputs& in) {
                     return ops::linear_attention(ctx, {in[0], 0}, {in[1], 0}, {in[1], 10},
                                                  Mask::packed_cross(queries, packed), two_heads)
                         .output;
                   }});
}

void add_functional_cases(std::vector<GradientCase>& cases) {
  cases.push_back({"rows", {{6, 3}}, [](Context& ctx, const Inputs& in) {
                     // Parts that overlap, and rows that no part has.
                     return ops::add(ctx, ops::rows(ctx, in[0], 1, 4), ops::rows(ctx, in[0], 2, 5));
                   }});
  cases.push_back({"append_row", {{2, 3, 4}, {4}}, [](Context& ctx, const Inputs& in) {
                     return ops::append_row(ctx, ops::append_row(ctx, in[0], in[1]), {});
                   }});
  const Tensor numbers = random_tensor({2, 1, 3, 4}, 21);
  for (const bool additive : {false, true}) {
    for (const double dropout : {0.0, 0.3}) {
      const ops::ScaledDotProductOptions options{.attn_mask = additive ? numbers : allowed_mask({3, 4}),
                                                 .dropout_p = dropout,
                                                 .scale = 0.6f,
                                                 .enable_gqa = true};
      cases.push_back(
          {fmt::format("scaled_dot_product_{}{}", additive ? "additive" : "masked", dropout > 0 ? "_dropout" : ""),
           {{2, 4, 3, 5}, {2, 2, 4, 5}, {2, 2, 4, 6}},
           [=](Context& ctx, const Inputs& in) {
             return ops::scaled_dot_product_attention(ctx, in[0], in[1], in[2], options).output;
           },
           dropout > 0});
    }
  }
  for (const bool additive : {false, true}) {
    const Tensor mask = additive ? random_tensor({4, 4}, 22) : Tensor();
    cases.push_back({additive ? "scaled_dot_product_one_source_additive" : "scaled_dot_product_one_source",
                     {{2, 3, 4, 5}},
                     [=](Context& ctx, const Inputs& in) {
                       return ops::scaled_dot_product_attention(ctx, in[0], in[0], in[0],
                                                                {.attn_mask = mask, .is_causal = true})
                           .output;
                     }});
    cases.push_back(
        {additive ? "multi_head_additive" : "multi_head",
         {{2, 4, 6}, {18, 6}, {18}, {6, 6}, {6}},
         [=](Context& ctx, const Inputs& in) {
           const ops::MultiHeadWeights weights{
               .in_proj_weight = in[1], .in_proj_bias = in[2], .out_proj_weight = in[3], .out_proj_bias = in[4]};
           return ops::multi_head_attention(ctx, in[0], in[0], in[0], weights,
                                            {.num_heads = 2, .attn_mask = mask, .is_causal = true})
               .output;
         }});
  }
  cases.push_back({"multi_head_separate",
                   {{2, 3, 6}, {2, 4, 5}, {2, 4, 7}, {6, 6}, {6, 5}, {6, 7}, {6, 6}, {1, 1, 6}, {1, 1, 6}},
                   [=](Context& ctx, const Inputs& in) {
                     const ops::MultiHeadWeights weights{.q_proj_weight = in[3],
                                                         .k_proj_weight = in[4],
                                                         .v_proj_weight = in[5],
                                                         .bias_k = in[7],
                                                         .bias_v = in[8],
                                                         .out_proj_weight = in[6]};
                     return ops::multi_head_attention(ctx, in[0], in[1], in[2], weights,
                                                      {.num_heads = 2, .add_zero_attn = true})
                         .output;
                   }});
}

}  // namespace

std::vector<GradientCase> gradient_cases() {
  std::vector<GradientCase> cases;
  add_linear_cases(cases);
  add_norm_cases(cases);
  add_elementwise_cases(cases);
  add_loss_cases(cases);
  add_attention_cases(cases);
  add_scored_attention_cases(cases);
  add_linear_attention_cases(cases);
  add_functional_cases(cases);
  return cases;
}

}  // namespace weft::testing
