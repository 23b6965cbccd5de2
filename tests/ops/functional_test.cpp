// What the functional forms promise besides PyTorch's numbers (tests/golden): clear errors, zeros, dropout only while
// training, and the fused path where nothing asks for more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/ops/gradient_check.h"
#include "tests/support/message_of.h"
#include "weft/ops/multi_head_attention.h"
#include "weft/ops/scaled_dot_product_attention.h"

namespace weft::testing {
namespace {

using ::testing::Each;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using testing_support::message_of;

constexpr float kNever = -std::numeric_limits<float>::infinity();

std::string sdpa_error(const Variable& q, const Variable& k, const Variable& v,
                       const ops::ScaledDotProductOptions& options = {}) {
  Context ctx;
  return message_of([&] { ops::scaled_dot_product_attention(ctx, q, k, v, options); });
}

Variable random(const Shape& shape, uint64_t seed = 1) { return random_tensor(shape, seed); }

TEST(ScaledDotProduct, SaysWhatDoesNotFit) {
  const Variable q = random({2, 4, 3, 8}), k = random({2, 4, 5, 8});
  EXPECT_THAT(sdpa_error(q, k, {}), HasSubstr("query, key and value are needed"));
  EXPECT_THAT(sdpa_error(random({8}), k, k), HasSubstr("((b,) (h,) tokens, width), got (8)"));
  EXPECT_THAT(sdpa_error(q, random({4, 5, 8}), k), HasSubstr("got (2, 4, 3, 8), (4, 5, 8)"));
  EXPECT_THAT(sdpa_error(q, random({1, 4, 5, 8}), random({1, 4, 5, 8})), HasSubstr("as many sequences"));
  EXPECT_THAT(sdpa_error(q, random({2, 4, 5, 6}), k), HasSubstr("queries and keys are equally wide"));
  EXPECT_THAT(sdpa_error(q, k, random({2, 4, 6, 8})), HasSubstr("one value per key and head, got (2, 4, 6, 8)"));
  EXPECT_THAT(sdpa_error(q, random({2, 2, 5, 8}), random({2, 2, 5, 8})), HasSubstr("set enable_gqa"));
  EXPECT_THAT(sdpa_error(q, random({2, 3, 5, 8}), random({2, 3, 5, 8}), {.enable_gqa = true}),
              HasSubstr("are not a multiple of those of the key (2, 3, 5, 8)"));
  EXPECT_THAT(sdpa_error(q, random({2, 2, 5, 8}), k, {.enable_gqa = true}), HasSubstr("one value per key and head"));
  EXPECT_THAT(sdpa_error(q, k, Variable(k.value().to(DType::bf16))), HasSubstr("one element type, got f32, f32 and"));
  EXPECT_THAT(sdpa_error(q, k, k, {.attn_mask = Tensor::zeros({3, 4})}),
              HasSubstr("the mask (1, 1, 3, 4) does not fit 2 sequences × 4 heads × 3 queries × 5 keys"));
  EXPECT_THAT(sdpa_error(q, k, k, {.attn_mask = Tensor::zeros({5})}), HasSubstr("broadcast to (b, h, q, k), got (5)"));
  EXPECT_THAT(sdpa_error(q, k, k, {.attn_mask = Tensor::zeros({3, 5}, DType::i32)}),
              HasSubstr("a mask is boolean or f32, got i32"));
  EXPECT_THAT(sdpa_error(q, k, k, {.dropout_p = 1.0}), HasSubstr("dropout_p 1 is not in [0, 1)"));
}

TEST(ScaledDotProduct, NoKeysGiveZeros) {
  Context ctx;
  for (const bool weights : {false, true}) {
    const auto result = ops::scaled_dot_product_attention(ctx, random({2, 3, 4, 8}), random({2, 3, 0, 8}),
                                                          random({2, 3, 0, 8}), {.need_weights = weights});
    EXPECT_EQ(result.output.shape(), (Shape{2, 3, 4, 8}));
    EXPECT_THAT(result.output.value().span<float>(), Each(FloatEq(0.0f)));
  }
}

TEST(ScaledDotProduct, DropsWeightsOnlyWhileTraining) {
  const Variable q = random({1, 2, 6, 8}), k = random({1, 2, 6, 8}, 2);
  const auto output = [&](bool training, double dropout, const Tensor& mask) {
    Context ctx{.training = training, .rng = Rng{3, 0}};
    const auto result =
        ops::scaled_dot_product_attention(ctx, q, k, k, {.attn_mask = mask, .dropout_p = dropout}).output;
    const auto values = result.value().span<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  const Tensor one = Tensor::full({6, 6}, 1.0f);  // adds nothing that a softmax would see
  for (const Tensor& mask : {Tensor(), one}) {
    EXPECT_EQ(output(false, 0.5, mask), output(false, 0.0, mask));
    EXPECT_NE(output(true, 0.5, mask), output(false, 0.0, mask));
  }
  // The same weights are dropped on both paths.
  const auto fused = output(true, 0.5, {}), explicit_path = output(true, 0.5, one);
  for (size_t i = 0; i < fused.size(); ++i) EXPECT_NEAR(fused[i], explicit_path[i], 1e-5f);
}

// A mask of 0 and −∞ says no more than a boolean one: the bits of the output are those of the fused path.
TEST(ScaledDotProduct, MaskOfInfinitiesTakesTheFusedPath) {
  Context ctx;
  const Variable q = random({1, 2, 40, 8}), k = random({1, 2, 40, 8}, 2);
  Tensor numbers = Tensor::zeros({40, 40}), bits = Tensor::zeros({40, 40}, DType::u8);
  for (int64_t i = 0; i < 1600; ++i) {
    const bool allowed = i % 3 != 0;
    bits.data<uint8_t>()[i] = allowed;
    numbers.data<float>()[i] = allowed ? 0.0f : kNever;
  }
  const auto with = [&](const Tensor& mask) {
    const auto result = ops::scaled_dot_product_attention(ctx, q, k, k, {.attn_mask = mask}).output;
    const auto values = result.value().span<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_EQ(with(numbers), with(bits));
}

TEST(ScaledDotProduct, NanInTheMaskStaysVisible) {
  Context ctx;
  Tensor mask = Tensor::zeros({2, 3});
  mask.data<float>()[4] = std::nanf("");
  const auto result =
      ops::scaled_dot_product_attention(ctx, random({2, 4}), random({3, 4}), random({3, 4}), {.attn_mask = mask});
  const auto values = result.output.value().span<float>();
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(std::isnan(values[i]), i >= 4) << i;
}

class MultiHead : public ::testing::Test {
 protected:
  std::string error() const {
    Context ctx;
    return message_of([&] { ops::multi_head_attention(ctx, query, key, value, weights, options); });
  }

  Variable query = random({2, 4, 12}), key = random({2, 5, 12}), value = key;
  ops::MultiHeadWeights weights{.in_proj_weight = random({36, 12}),
                                .in_proj_bias = random({36}),
                                .out_proj_weight = random({12, 12}),
                                .out_proj_bias = random({12})};
  ops::MultiHeadOptions options{.num_heads = 3};
};

TEST_F(MultiHead, Runs) { EXPECT_EQ(error(), "(no error)"); }

TEST_F(MultiHead, SaysWhichInputDoesNotFit) {
  query = {};
  EXPECT_THAT(error(), HasSubstr("query, key and value are needed"));
  query = random({4, 12});
  EXPECT_THAT(error(), HasSubstr("((b,) tokens, width), got (4, 12), (2, 5, 12)"));
  query = random({3, 4, 12});
  EXPECT_THAT(error(), HasSubstr("as many sequences, got (3, 4, 12), (2, 5, 12)"));
  query = random({2, 4, 12});
  value = random({2, 6, 12});
  EXPECT_THAT(error(), HasSubstr("one value per key, got (2, 5, 12) and (2, 6, 12)"));
  value = random({2, 5, 10});
  EXPECT_THAT(error(), HasSubstr("got 12 and 10; give separate weights"));
  value = key;
  options.num_heads = 5;
  EXPECT_THAT(error(), HasSubstr("width 12 is not a multiple of num_heads 5"));
}

TEST_F(MultiHead, SaysWhichWeightDoesNotFit) {
  const ops::MultiHeadWeights good = weights;
  weights.in_proj_weight = random({24, 12});
  EXPECT_THAT(error(), HasSubstr("in_proj_weight is (36, 12) f32, got (24, 12)"));
  weights.in_proj_weight = {};
  EXPECT_THAT(error(), HasSubstr("either in_proj_weight, or q_proj_weight"));
  weights.q_proj_weight = random({12, 12});
  EXPECT_THAT(error(), HasSubstr("k_proj_weight (12, 12) is missing"));
  weights = good;
  weights.v_proj_weight = random({12, 12});
  EXPECT_THAT(error(), HasSubstr("either in_proj_weight, or q_proj_weight"));
  weights = good;
  weights.in_proj_bias = random({12});
  EXPECT_THAT(error(), HasSubstr("in_proj_bias is (36) f32, got (12)"));
  weights = good;
  weights.out_proj_weight = {};
  EXPECT_THAT(error(), HasSubstr("out_proj_weight (12, 12) is missing"));
  weights = good;
  weights.bias_k = random({12});
  EXPECT_THAT(error(), HasSubstr("bias_k and bias_v come together"));
  weights.bias_v = random({3});
  EXPECT_THAT(error(), HasSubstr("bias_k and bias_v have 12 numbers, got (3)"));
}

TEST_F(MultiHead, SaysWhichMaskDoesNotFit) {
  options.attn_mask = Tensor::zeros({4, 4}, DType::u8);
  EXPECT_THAT(error(), HasSubstr("attn_mask has shape (4, 5) or (6, 4, 5), got (4, 4)"));
  options.attn_mask = Tensor::zeros({2, 4, 5}, DType::u8);
  EXPECT_THAT(error(), HasSubstr("attn_mask has shape (4, 5) or (6, 4, 5), got (2, 4, 5)"));
  options.attn_mask = {};
  options.key_padding_mask = Tensor::zeros({2, 4}, DType::u8);
  EXPECT_THAT(error(), HasSubstr("key_padding_mask has shape (2, 5), got (2, 4)"));
  options.key_padding_mask = Tensor::zeros({2, 5}, DType::i64);
  EXPECT_THAT(error(), HasSubstr("a mask is boolean or f32, got i64"));
}

// One product where query, key and value are one variable; nothing beside products and attention is recorded.
TEST_F(MultiHead, SelfAttentionIsOneProductAndTheFusedPath) {
  Tape tape;
  Context ctx{.tape = &tape};
  const Variable x = tape.watch(random_tensor({2, 4, 12}, 5));
  options.is_causal = true;
  ops::multi_head_attention(ctx, x, x, x, weights, options);
  EXPECT_THAT(tape.operations(), ::testing::ElementsAre("linear", "attention", "linear"));
}

TEST_F(MultiHead, AppendedKeysAreSeenByEveryQuery) {
  Context ctx;
  options.is_causal = true;
  options.need_weights = true;
  options.add_zero_attn = true;
  options.key_padding_mask = Tensor::full({2, 5}, kNever);  // of the keys given, none may be seen
  const auto result = ops::multi_head_attention(ctx, query, key, value, weights, options);
  ASSERT_EQ(result.weights.shape(), (Shape{2, 4, 6}));
  const auto values = result.weights.span<float>();
  for (size_t i = 0; i < values.size(); ++i) EXPECT_FLOAT_EQ(values[i], i % 6 == 5 ? 1.0f : 0.0f);
}

}  // namespace
}  // namespace weft::testing
