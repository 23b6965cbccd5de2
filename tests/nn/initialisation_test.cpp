#include "weft/nn/initialisation.h"

#include <gtest/gtest.h>

namespace weft::nn {
namespace {

TEST(WeightInitialisation, ScalesWhatEndsInTheResidualStream) {
  const WeightInitialisation scaled{Initialisation::scaled_normal, 0.02, 8};
  EXPECT_DOUBLE_EQ(scaled.weight(4, 4).scale, 0.02);
  EXPECT_DOUBLE_EQ(scaled.residual_weight(4, 4).scale, 0.02 / 4.0);
  const WeightInitialisation xavier{Initialisation::xavier_uniform, 0.02, 8};
  EXPECT_DOUBLE_EQ(xavier.residual_weight(4, 2).scale, 1.0);
  EXPECT_DOUBLE_EQ(xavier.embedding().scale, 1.0);
}

TEST(WeightInitialisation, EmbeddingsThatAreScaledStartSmallerByAsMuchUnderXavier) {
  EXPECT_DOUBLE_EQ((WeightInitialisation{Initialisation::xavier_normal}.embedding(16.0).scale), 1.0 / 16.0);
  EXPECT_DOUBLE_EQ((WeightInitialisation{Initialisation::normal, 0.02}.embedding(16.0).scale), 0.02);
}

}  // namespace
}  // namespace weft::nn
