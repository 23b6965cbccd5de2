#include "tests/golden/golden.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "weft/base/error.h"

namespace weft::golden {
namespace {

TEST(GoldenFolder, HasATestForEveryGroup) {
  const std::set<std::string> tested = {"activation",
                                        "adamw",
                                        "attention",
                                        "attention_layer",
                                        "block",
                                        "causal_lm",
                                        "clip",
                                        "curve",
                                        "cross_entropy",
                                        "embedding",
                                        "linear",
                                        "feed_forward",
                                        "norm",
                                        "positions",
                                        "rotary",
                                        "schedule",
                                        "decoder_block",
                                        "encoder_decoder",
                                        "bert",
                                        "multi_head",
                                        "scaled_dot_product"};
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(WEFT_SOURCE_DIR) / "tests/goldens")) {
    EXPECT_TRUE(tested.contains(entry.path().filename().string())) << entry.path();
  }
}

TEST(GoldenDifference, IsRelativeToTheLargestElement) {
  const std::vector<float> expected = {1.0f, -4.0f, 2.0f, 0.0f};
  const std::vector<float> actual = {1.0f, -4.0f, 2.0f, 0.4f};
  const Tensor e = Tensor::from(std::span<const float>(expected), {2, 2});
  const Tensor a = Tensor::from(std::span<const float>(actual), {2, 2});
  EXPECT_NEAR(relative_difference(a, e), 0.1, 1e-7);
  const std::vector<uint8_t> counted = {1, 0};
  EXPECT_EQ(relative_difference(a, e, Tensor::from(std::span<const uint8_t>(counted), {2})), 0.0);
  EXPECT_EQ(relative_difference(e, e), 0.0);
}

TEST(GoldenDifference, IsInfiniteForWhatCannotBeCompared) {
  const Tensor e = Tensor::zeros({2, 2});
  EXPECT_TRUE(std::isinf(relative_difference(Tensor::zeros({3}), e)));
  EXPECT_TRUE(std::isinf(relative_difference(Tensor(), e)));
  EXPECT_TRUE(std::isinf(relative_difference(Tensor::full({2, 2}, std::nanf("")), e)));
  EXPECT_TRUE(std::isinf(relative_difference(Tensor::full({2, 2}, 1e-9f), e)));  // zeros are to be exact
}

TEST(GoldenSource, ReportsWhatDoesNotFitTogether) {
  const Golden golden("linear/relu");
  ParameterStore store(golden.source());
  store.root().parameter("weight", {20, 23}, Initialiser::zeros());
  store.root().parameter("gamma", {20}, Initialiser::zeros());
  try {
    store.finish();
    FAIL() << "nothing was reported";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "golden: weight is (20, 24), weft wants (20, 23); missing gamma; never asked for: bias");
  }
}

}  // namespace
}  // namespace weft::golden
