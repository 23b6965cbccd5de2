#include "weft/data/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/error.h"

namespace weft::data {
namespace {

TEST(BatchBuilder, LaysSequencesEndToEnd) {
  BatchBuilder builder;
  builder.add({.ids = std::vector<int32_t>{7, 8, 9}, .targets = std::vector<int32_t>{ignored_target, 9, 1}});
  builder.add({.ids = std::vector<int32_t>{5}, .targets = std::vector<int32_t>{6}});
  const Batch batch = builder.finish();
  EXPECT_THAT(batch.input.ids.span<int32_t>(), testing::ElementsAre(7, 8, 9, 5));
  EXPECT_THAT(batch.targets.span<int32_t>(), testing::ElementsAre(ignored_target, 9, 1, 6));
  EXPECT_THAT(batch.input.position_ids.span<int32_t>(), testing::ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(batch.input.offsets, testing::ElementsAre(0, 3, 4));
  EXPECT_EQ(batch.counted, 3);
  EXPECT_EQ(batch.tokens(), 4);
  EXPECT_EQ(batch.sequences(), 2);
}

TEST(BatchBuilder, PadsEverySequenceToTheLongest) {
  BatchBuilder builder(Packing::padded, 99);
  const std::vector<int32_t> ids = {7, 8, 9}, targets = {1, 2, ignored_target}, source = {4, 5};
  builder.add({.ids = ids, .targets = targets, .source = source, .class_id = 1});
  builder.add({.ids = std::span(ids).first(1), .targets = std::span(ids).first(1), .source = ids, .class_id = 0});
  const Batch batch = builder.finish();
  EXPECT_THAT(batch.input.ids.span<int32_t>(), testing::ElementsAre(7, 8, 9, 7, 99, 99));
  EXPECT_THAT(batch.targets.span<int32_t>(),
              testing::ElementsAre(1, 2, ignored_target, 7, ignored_target, ignored_target));
  EXPECT_THAT(batch.input.position_ids.span<int32_t>(), testing::ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(batch.input.offsets, testing::ElementsAre(0, 3, 6));
  EXPECT_THAT(batch.input.lengths, testing::ElementsAre(3, 1));
  EXPECT_THAT(batch.source.ids.span<int32_t>(), testing::ElementsAre(4, 5, 99, 7, 8, 9));
  EXPECT_THAT(batch.source.lengths, testing::ElementsAre(2, 3));
  EXPECT_THAT(batch.classes.span<int32_t>(), testing::ElementsAre(1, 0));
  EXPECT_EQ(batch.counted, 3);
  EXPECT_EQ(batch.tokens(), 9);
}

TEST(BatchBuilder, RefusesSamplesThatDiffer) {
  const std::vector<int32_t> ids = {7};
  BatchBuilder builder;
  builder.add({.ids = ids, .targets = ids});
  EXPECT_THAT([&] { builder.add({.ids = ids, .targets = ids, .source = ids}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("all samples have a source or none has")));
  EXPECT_THAT([&] { builder.add({.ids = ids, .targets = ids, .class_id = 1}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("all samples have a class or none has")));
}

TEST(BatchBuilder, RefusesWhatIsNoSequence) {
  BatchBuilder builder;
  EXPECT_THAT([&] { builder.finish(); }, testing::ThrowsMessage<Error>(testing::HasSubstr("no sequences to lay out")));
  EXPECT_THAT(
      [&] {
        builder.add({.ids = std::vector<int32_t>{1, 2}, .targets = std::vector<int32_t>{1}});
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("a sequence of 2 ids has as many targets, not 1")));
}

}  // namespace
}  // namespace weft::data
