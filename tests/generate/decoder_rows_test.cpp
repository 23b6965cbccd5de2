#include "weft/generate/decoder_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "weft/base/error.h"

namespace weft::generate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::vector<std::vector<int32_t>> prompts = {{1, 2, 3}, {4}};

std::vector<int32_t> ids_of(const models::TokenInput& input) {
  const auto ids = input.ids.span<int32_t>();
  return {ids.begin(), ids.end()};
}

TEST(DecoderRows, WithoutACacheEveryTokenIsUnread) {
  DecoderRows rows;
  rows.start(prompts, {.rows = 2, .new_tokens = 5});
  EXPECT_THAT(ids_of(rows.unread()), ElementsAre(1, 2, 3, 4));
  rows.append(std::array<int32_t, 2>{7, 8});
  rows.select(std::array<int64_t, 1>{1});
  EXPECT_THAT(ids_of(rows.unread()), ElementsAre(4, 8));
  EXPECT_THAT(rows.prompts(), ElementsAre(1));
}

TEST(DecoderRows, WithACacheOnlyNewTokensAreUnread) {
  DecoderRows rows;
  const DecoderRoom room{.rows = 3, .new_tokens = 2};
  rows.start(prompts, room);
  EXPECT_EQ(rows.capacity(room, 9), 5);
  EXPECT_EQ(rows.capacity(room, 4), 4);
  rows.use(nn::KvCache(1, 3, 5, 1, DType::f32));
  EXPECT_EQ(rows.cache()->batch(), 2);
  EXPECT_THAT(ids_of(rows.unread()), ElementsAre(1, 2, 3, 4));
  rows.cache()->advance(std::array<int64_t, 2>{3, 1});
  rows.select(std::array<int64_t, 3>{1, 0, 1});
  rows.append(std::array<int32_t, 3>{5, 6, 7});
  EXPECT_EQ(rows.cache()->length(2), 1);
  EXPECT_THAT(ids_of(rows.unread()), ElementsAre(5, 6, 7));
  rows.cache()->advance(std::array<int64_t, 3>{1, 1, 1});
  rows.cut(1, 2);
  EXPECT_EQ(rows.cache()->length(1), 0);
  EXPECT_THAT(ids_of(rows.unread()), ElementsAre(3, 6));
}

TEST(DecoderRows, RefusesWhatDoesNotFit) {
  DecoderRows rows;
  EXPECT_THAT([&] { rows.start(prompts, {.rows = 1, .new_tokens = 1}); },
              ThrowsMessage<Error>(HasSubstr("2 prompts, and room for 1 rows")));
  rows.start(prompts, {.rows = 2, .new_tokens = 1});
  EXPECT_THAT([&] { rows.select(std::array<int64_t, 1>{2}); },
              ThrowsMessage<Error>(HasSubstr("row 2 was asked for, there are 2")));
  EXPECT_THAT([&] { rows.append(std::array<int32_t, 1>{2}); }, ThrowsMessage<Error>(HasSubstr("1 tokens for 2 rows")));
}

}  // namespace
}  // namespace weft::generate
