#include "weft/data/count_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "weft/base/error.h"
#include "weft/text/word.h"

namespace weft::data {
namespace {

using testing::HasSubstr;

std::vector<int32_t> numbers(const Tensor& tensor) {
  const auto span = tensor.span<int32_t>();
  return {span.begin(), span.end()};
}

TEST(CountTask, SequencesAreThoseOfTheNotes) {
  const CountTask task({.sampling = {.samples = 2000, .batch_size = 500, .seed = 1}});
  std::map<int32_t, int> firsts;
  std::map<int64_t, int> lengths;
  for (int64_t index = 0; index < 4; ++index) {
    const Batch batch = task.batch(index);
    ASSERT_EQ(batch.sequences(), 500);
    EXPECT_EQ(batch.counted, batch.tokens() - 500);
    const std::vector<int32_t> ids = numbers(batch.input.ids), targets = numbers(batch.targets);
    for (size_t s = 0; s < 500; ++s) {
      const auto begin = static_cast<size_t>(batch.input.offsets[s]),
                 end = static_cast<size_t>(batch.input.offsets[s + 1]);
      ASSERT_GE(end - begin, 2u);
      ASSERT_LE(end - begin, 16u);
      EXPECT_EQ(ids[begin], CountTask::bos_id);
      EXPECT_EQ(targets[begin], ignored_target);
      ++firsts[ids[begin + 1]];
      ++lengths[batch.input.offsets[s + 1] - batch.input.offsets[s] - 1];
      for (size_t i = begin + 1; i < end; ++i) {
        ASSERT_GE(ids[i], 3);
        ASSERT_LT(ids[i], 103);
        EXPECT_EQ(targets[i], ids[i] >= 42 + 3 ? CountTask::eos_id : ids[i] + 1);
        if (i + 1 < end) {
          EXPECT_EQ(ids[i + 1], targets[i]);  // so nothing follows an EOS
        }
      }
    }
  }
  EXPECT_GE(firsts.size(), 98u);  // 2000 draws of about 100 starts
  EXPECT_EQ(lengths.size(), 15u);
  // Starts from 42 on (just over half of all) end after one number, beside those drawn of length 1.
  EXPECT_NEAR(lengths[1], 2000 * (0.5 + 0.5 / 15), 200);
}

TEST(CountTask, EveryEpochDrawsAnewAndTheValidationSplitNever) {
  const CountTaskConfig config{.sampling = {.samples = 250, .batch_size = 100, .seed = 1}};
  CountTaskConfig other = config;
  other.sampling.split = Split::validation;
  const CountTask training(config), again(config), validation(other);
  ASSERT_EQ(training.batches_per_epoch(), 3);
  EXPECT_EQ(training.batch(2).sequences(), 50);  // what is left of the epoch
  EXPECT_EQ(numbers(training.batch(4).input.ids), numbers(again.batch(4).input.ids));
  EXPECT_NE(numbers(training.batch(1).input.ids), numbers(training.batch(4).input.ids));
  EXPECT_EQ(numbers(validation.batch(1).input.ids), numbers(validation.batch(4).input.ids));
  EXPECT_NE(numbers(validation.batch(1).input.ids), numbers(training.batch(1).input.ids));
  EXPECT_NE(training.fingerprint(),
            CountTask({.sampling = {.samples = 250, .batch_size = 100, .seed = 2}}).fingerprint());
}

TEST(CountTask, AnswersAreThoseOfTheNotes) {
  const CountTask task({});
  const text::WordTokenizer tokenizer(text::number_words(100));
  const auto text = [&](int64_t start) {
    return tokenizer.decode(CountTask::prompt(start)) + " | " + tokenizer.decode(task.answer(start));
  };
  EXPECT_EQ(text(23), "<BOS> 23 | 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38");
  EXPECT_EQ(text(28), "<BOS> 28 | 29 30 31 32 33 34 35 36 37 38 39 40 41 42 <EOS>");
  EXPECT_EQ(text(27), "<BOS> 27 | 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42");
  EXPECT_EQ(text(40), "<BOS> 40 | 41 42 <EOS>");
  EXPECT_EQ(text(45), "<BOS> 45 | <EOS>");
}

TEST(CountTask, RefusesValuesThatLeaveNothingToDraw) {
  const std::pair<CountTaskConfig, const char*> cases[] = {
      {{.max_length = 1}, "max_length is 2 or more"},
      {{.numbers = 10}, "need numbers ≥ 16, got 10"},
      {{.stop_at = 100}, "stop_at is one of the numbers 0 to 99, got 100"},
      {{.sampling = {.samples = 0}}, "samples is 1 or more, got 0"},
      {{.sampling = {.batch_size = -1}}, "batch_size is 1 or more, got -1"},
  };
  for (const auto& bad : cases) {
    EXPECT_THAT([&] { CountTask task(bad.first); }, testing::ThrowsMessage<Error>(testing::HasSubstr(bad.second)));
  }
}

}  // namespace
}  // namespace weft::data
