#include "weft/nn/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "weft/base/error.h"

namespace weft::nn {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(KvCache, KnowsItsBounds) {
  KvCache cache(2, 2, 4, 6, DType::f32);
  const std::array<int64_t, 2> counts = {3, 1};
  cache.advance(counts);
  EXPECT_EQ(cache.length(0), 3);
  EXPECT_THAT([&] { cache.advance(counts); },
              ThrowsMessage<Error>(HasSubstr("sequence 0 has room for 4 tokens, not for 6")));
  cache.truncate(0, 1);
  EXPECT_EQ(cache.length(0), 1);
  EXPECT_THAT([&] { cache.truncate(1, 2); }, ThrowsMessage<Error>(HasSubstr("cannot be cut to 2 tokens")));
  EXPECT_THAT([] { KvCache(1, 1, 0, 1, DType::f32); }, ThrowsMessage<Error>(HasSubstr("are positive")));
}

}  // namespace
}  // namespace weft::nn
