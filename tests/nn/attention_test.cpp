#include "weft/nn/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "weft/base/error.h"
#include "weft/nn/positions.h"

namespace weft::nn {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Tensor random_tensor(const Shape& shape, uint64_t seed) {
  Tensor tensor = Tensor::empty(shape);
  Initialiser::normal(1.0).fill(tensor, Rng{seed, 0});
  return tensor;
}

void expect_close(const Tensor& a, const Tensor& b, float tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.numel(); ++i) {
    ASSERT_NEAR(a.data<float>()[i], b.data<float>()[i], tolerance) << "element " << i;
  }
}

AttentionConfig small() {
  return {.d_model = 12, .heads = 3, .kv_heads = 1, .initialisation = {.scheme = Initialisation::xavier_uniform}};
}

// The outputs here are of order 1; two ways to sum them differ by rounding only.
constexpr float kSame = 1e-5f;

TEST(Attention, AskingForWeightsDoesNotChangeTheOutput) {
  ParameterStore store(initialise(1));
  const Attention attention(store.root(), small());
  const Variable x(random_tensor({2, 5, 12}, 2));
  Context ctx;
  const AttentionResult fused = attention.forward(ctx, x, {}, {.mask = {.causal = true}});
  const AttentionResult explicit_path = attention.forward(ctx, x, {}, {.mask = {.causal = true}, .need_weights = true});
  EXPECT_FALSE(fused.weights.defined());
  EXPECT_EQ(explicit_path.weights.shape(), (Shape{2, 3, 5, 5}));
  expect_close(fused.output.value(), explicit_path.output.value(), kSame);
}

TEST(Attention, CrossAttentionToItselfEqualsSelfAttention) {
  ParameterStore self_store(initialise(1)), cross_store(initialise(1));
  AttentionConfig config = small();
  const Attention self(self_store.root(), config);
  config.kind = AttentionKind::cross;
  const Attention cross(cross_store.root(), config);
  // The fused projection's rows are [queries | keys | values].
  const auto copy = [&](const std::string& to, int64_t begin, int64_t end) {
    const Tensor rows = self_store.find("qkv.weight")->value().slice(0, begin, end);
    std::copy_n(rows.data<float>(), rows.numel(), cross_store.find(to)->mutable_value().data<float>());
  };
  copy("query.weight", 0, 12);
  copy("kv.weight", 12, 20);
  std::ranges::copy(self_store.find("output.weight")->value().span<float>(),
                    cross_store.find("output.weight")->mutable_value().data<float>());
  const Variable x(random_tensor({2, 5, 12}, 2));
  Context ctx;
  expect_close(self.forward(ctx, x, {}).output.value(), cross.forward(ctx, x, x).output.value(), kSame);
}

TEST(Attention, AQueryThatMayAttendToNothingGivesTheOutputOfZeros) {
  ParameterStore store(initialise(1));
  const Attention attention(store.root(), small());
  Mask mask;
  Tensor allowed = Tensor::zeros({4, 4}, DType::boolean);
  for (int64_t j = 0; j < 4; ++j) allowed.data<bool>()[j] = true;  // only query 0 sees anything
  mask.allowed = allowed;
  Context ctx;
  const Tensor y = attention.forward(ctx, Variable(random_tensor({4, 12}, 3)), {}, {.mask = mask}).output.value();
  // Biases start at zero, so the projection of zeros is zero.
  for (int64_t i = 12; i < y.numel(); ++i) EXPECT_EQ(y.data<float>()[i], 0.0f);
  EXPECT_NE(y.data<float>()[0], 0.0f);
}

TEST(Attention, RotaryDependsOnDistancesOnly) {
  ParameterStore store(initialise(1));
  AttentionConfig config = small();
  config.rotary = kernels::Rotary{kernels::RotaryLayout::half_split, 4, 10000.0};
  const Attention attention(store.root(), config);
  const Variable x(random_tensor({5, 12}, 2));
  Context ctx;
  const std::array<int64_t, 2> offsets = {0, 5};
  const std::array<int64_t, 1> later = {100};
  const Mask mask = Mask::packed(offsets, true);
  const auto at = [&](const Tensor& ids) {
    return attention.forward(ctx, x, {}, {.mask = mask, .position_ids = ids}).output.value();
  };
  expect_close(at(packed_position_ids(offsets)), at(packed_position_ids(offsets, later)), 1e-4f);
}

TEST(Attention, ExplainsWhatItCannotDo) {
  ParameterStore store(initialise(1));
  AttentionConfig bad = small();
  bad.heads = 5;
  EXPECT_THAT([&] { Attention(store.root() / "a", bad); },
              ThrowsMessage<Error>(HasSubstr("attention a: d_model 12 is not a multiple of heads 5")));
  bad = small();
  bad.kv_heads = 2;
  EXPECT_THAT([&] { Attention(store.root() / "b", bad); },
              ThrowsMessage<Error>(HasSubstr("heads 3 is not a multiple of kv_heads 2")));
  bad = small();
  bad.weights = AttentionWeights::linear;
  bad.alibi = true;
  EXPECT_THAT([&] { Attention(store.root() / "d", bad); },
              ThrowsMessage<Error>(HasSubstr("attention d: linear attention has no scores")));
  bad.alibi = false;
  bad.dropout = 0.5;
  EXPECT_THAT([&] { Attention(store.root() / "e", bad); },
              ThrowsMessage<Error>(HasSubstr("has no weights to drop, but dropout is 0.5")));
  const Attention attention(store.root() / "c", small());
  const Variable x(random_tensor({4, 12}, 3));
  Context ctx;
  EXPECT_THAT(
      [&] {
        attention.forward(ctx, Variable(random_tensor({4, 10}, 3)), {});
      },
      ThrowsMessage<Error>(HasSubstr("attention c: queries are (…, 12), got (4, 10)")));
  EXPECT_THAT(
      [&] {
        attention.forward(ctx, x, Variable(random_tensor({4, 12}, 4)));
      },
      ThrowsMessage<Error>(HasSubstr("configure it as cross-attention")));
  Mask outside;
  outside.segments = {{0, 9, 0, 9}};
  EXPECT_THAT([&] { attention.forward(ctx, x, {}, {.mask = outside}); },
              ThrowsMessage<Error>(HasSubstr("outside the 4 query and 4 key rows")));
  Mask wrong;
  wrong.allowed = Tensor::zeros({4, 4});
  EXPECT_THAT([&] { attention.forward(ctx, x, {}, {.mask = wrong}); },
              ThrowsMessage<Error>(HasSubstr("the mask is boolean")));
}

}  // namespace
}  // namespace weft::nn
