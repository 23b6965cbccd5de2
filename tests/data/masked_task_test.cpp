#include "weft/data/masked_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/error.h"
#include "weft/text/word.h"

namespace weft::data {
namespace {

TEST(MaskedTask, RunsAreMaskedAndClassedAsInTheNotes) {
  const MaskedTask task({.sampling = {.samples = 3000, .batch_size = 3000, .seed = 4}});
  const Batch batch = task.batch(0);
  const auto ids = batch.input.ids.span<int32_t>(), targets = batch.targets.span<int32_t>();
  int64_t masked = 0, high = 0;
  for (size_t i = 0; i < 3000; ++i) {
    const auto begin = static_cast<size_t>(batch.input.offsets[i]),
               end = static_cast<size_t>(batch.input.offsets[i + 1]);
    ASSERT_GE(end - begin, 2u);
    ASSERT_LE(end - begin, 16u);
    EXPECT_EQ(ids[begin], MaskedTask::cls_id);
    EXPECT_EQ(targets[begin], ignored_target);
    double sum = 0.0;
    for (size_t row = begin + 1; row < end; ++row) {
      EXPECT_EQ(targets[row], targets[begin + 1] + static_cast<int32_t>(row - begin - 1));
      if (ids[row] == MaskedTask::mask_id) {
        ++masked;
      } else {
        EXPECT_EQ(ids[row], targets[row]);
      }
      sum += targets[row] - 3;
    }
    const int32_t expected = sum / static_cast<double>(end - begin - 1) >= 50.0 ? 1 : 0;
    EXPECT_EQ(batch.classes.span<int32_t>()[i], expected);
    high += expected;
  }
  EXPECT_EQ(batch.counted, batch.tokens() - 3000);
  EXPECT_NEAR(static_cast<double>(masked) / static_cast<double>(batch.counted), 0.2, 0.02);
  EXPECT_NEAR(static_cast<double>(high), 1500.0, 150.0);
}

TEST(MaskedTask, ItsWordsHaveTheIdsOfTheNotes) {
  const text::WordTokenizer tokenizer(text::masked_number_words(100));
  EXPECT_EQ(tokenizer.encode("[PAD] [MASK] [CLS] 0 99"), (std::vector<int32_t>{0, 1, 2, 3, 102}));
  EXPECT_EQ(tokenizer.special().bos, MaskedTask::cls_id);
}

TEST(MaskedTask, RefusesValuesThatLeaveNothingToDraw) {
  EXPECT_THAT([] { MaskedTask({.mask_rate = 1.0}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("mask_rate is in [0, 1), got 1")));
  EXPECT_THAT([] { MaskedTask({.numbers = 15}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("need numbers ≥ 16")));
}

}  // namespace
}  // namespace weft::data
