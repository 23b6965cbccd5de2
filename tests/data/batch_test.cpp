#include "weft/data/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/error.h"

namespace weft::data {
namespace {

TEST(BatchPacker, LaysSequencesEndToEnd) {
  BatchPacker packer;
  packer.add(std::vector<int32_t>{7, 8, 9}, std::vector<int32_t>{ignored_target, 9, 1});
  packer.add(std::vector<int32_t>{5}, std::vector<int32_t>{6});
  const PackedBatch batch = packer.finish();
  EXPECT_THAT(batch.ids.span<int32_t>(), testing::ElementsAre(7, 8, 9, 5));
  EXPECT_THAT(batch.targets.span<int32_t>(), testing::ElementsAre(ignored_target, 9, 1, 6));
  EXPECT_THAT(batch.position_ids.span<int32_t>(), testing::ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(batch.offsets, testing::ElementsAre(0, 3, 4));
  EXPECT_EQ(batch.counted, 3);
  EXPECT_EQ(batch.tokens(), 4);
  EXPECT_EQ(batch.sequences(), 2);
}

TEST(BatchPacker, RefusesWhatIsNoSequence) {
  BatchPacker packer;
  EXPECT_THAT([&] { packer.finish(); }, testing::ThrowsMessage<Error>(testing::HasSubstr("no sequences to pack")));
  EXPECT_THAT(
      [&] {
        packer.add(std::vector<int32_t>{1, 2}, std::vector<int32_t>{1});
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("a sequence of 2 ids has as many targets, not 1")));
}

}  // namespace
}  // namespace weft::data
