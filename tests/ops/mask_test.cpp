#include "weft/ops/mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "weft/base/error.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Mask, ChecksOffsetsAndLengths) {
  const std::array<int64_t, 3> falling = {0, 4, 2};
  const std::array<int64_t, 2> late = {1, 4};
  EXPECT_THAT([&] { Mask::packed(falling, true); }, ThrowsMessage<Error>(HasSubstr("2 follows 4")));
  EXPECT_THAT([&] { Mask::packed(late, true); }, ThrowsMessage<Error>(HasSubstr("begin with 0")));
  const std::array<int64_t, 1> lengths = {5};
  EXPECT_THAT([&] { Mask::padded(lengths, 4, false); }, ThrowsMessage<Error>(HasSubstr("length 5, expected 0 to 4")));
}

}  // namespace
}  // namespace weft
