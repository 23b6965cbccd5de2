#include "weft/nn/positions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace weft::nn {
namespace {

TEST(Positions, SinusoidsHaveSinesInEvenAndCosinesInOddColumns) {
  const Tensor table = sinusoidal_positions(50, 6);
  for (const int64_t p : {0, 1, 49}) {
    for (int64_t i = 0; i < 3; ++i) {
      const double angle = static_cast<double>(p) / std::pow(10000.0, 2.0 * static_cast<double>(i) / 6.0);
      EXPECT_NEAR(table.data<float>()[p * 6 + 2 * i], std::sin(angle), 1e-6);
      EXPECT_NEAR(table.data<float>()[p * 6 + 2 * i + 1], std::cos(angle), 1e-6);
    }
  }
}

TEST(Positions, CountWithinEverySequence) {
  const std::array<int64_t, 4> offsets = {0, 2, 2, 5};
  const std::array<int64_t, 3> first = {7, 0, 1};
  EXPECT_THAT(packed_position_ids(offsets).span<int32_t>(), ::testing::ElementsAre(0, 1, 0, 1, 2));
  EXPECT_THAT(packed_position_ids(offsets, first).span<int32_t>(), ::testing::ElementsAre(7, 8, 1, 2, 3));
}

}  // namespace
}  // namespace weft::nn
