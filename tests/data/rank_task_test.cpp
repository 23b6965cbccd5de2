#include "weft/data/rank_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "weft/base/error.h"
#include "weft/text/word.h"

namespace weft::data {
namespace {

std::vector<int32_t> part(const Tensor& tensor, int64_t begin, int64_t end) {
  const auto span = tensor.span<int32_t>();
  return {span.begin() + begin, span.begin() + end};
}

TEST(RankTask, AnswersAreThoseOfTheNotes) {
  const text::WordTokenizer tokenizer(text::number_words(100));
  const auto answer = [&](std::string_view numbers) {
    return tokenizer.decode(RankTask::answer(tokenizer.encode(numbers)));
  };
  EXPECT_EQ(answer("5"), "0 <EOS>");
  EXPECT_EQ(answer("5 7 3 5 99 0"), "0 1 0 2 4 0 <EOS>");
  EXPECT_EQ(answer("4 4 4"), "0 1 2 <EOS>");
}

TEST(RankTask, TheDecoderReadsTheAnswerOneLate) {
  const RankTask task({.sampling = {.samples = 600, .batch_size = 300, .seed = 3}});
  std::set<int64_t> lengths;
  std::set<int32_t> numbers;
  for (int64_t index = 0; index < 2; ++index) {
    const Batch batch = task.batch(index);
    ASSERT_EQ(batch.sequences(), 300);
    ASSERT_EQ(batch.source.sequences(), 300);
    EXPECT_EQ(batch.counted, batch.input.tokens());
    for (size_t i = 0; i < 300; ++i) {
      const auto source = part(batch.source.ids, batch.source.offsets[i], batch.source.offsets[i + 1]);
      const auto ids = part(batch.input.ids, batch.input.offsets[i], batch.input.offsets[i + 1]);
      std::vector<int32_t> expected = RankTask::answer(source);
      EXPECT_EQ(part(batch.targets, batch.input.offsets[i], batch.input.offsets[i + 1]), expected);
      expected.insert(expected.begin(), RankTask::bos_id);
      expected.pop_back();
      EXPECT_EQ(ids, expected);
      lengths.insert(static_cast<int64_t>(source.size()));
      numbers.insert(source.begin(), source.end());
    }
  }
  EXPECT_THAT(lengths, testing::ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(numbers.size(), 100u);
  EXPECT_EQ(*numbers.begin(), 3);
}

TEST(RankTask, RefusesValuesThatLeaveNothingToDraw) {
  EXPECT_THAT([] { RankTask({.max_length = 1}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("max_length is 2 or more")));
  EXPECT_THAT([] { RankTask({.numbers = 3}); }, testing::ThrowsMessage<Error>(testing::HasSubstr("need numbers ≥ 6")));
}

}  // namespace
}  // namespace weft::data
