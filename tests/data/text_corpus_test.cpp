#include "weft/data/text_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/temporary_folder.h"
#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/text/byte.h"
#include "weft/text/character.h"

namespace weft::data {
namespace {

// 0, 1, 2, … as bytes: a token's value is its place, so blocks show where they were taken.
std::string counting(int length) {
  std::string text;
  for (int i = 0; i < length; ++i) text += static_cast<char>(i);
  return text;
}

std::vector<int32_t> numbers(const Tensor& tensor) {
  const auto span = tensor.span<int32_t>();
  return {span.begin(), span.end()};
}

TextCorpus corpus(const TextCorpusConfig& config, int length = 100) {
  return TextCorpus(counting(length), "test.txt", text::ByteTokenizer(), config);
}

TEST(TextCorpus, TrainingBlocksLieInTheFirstPartWithTheNextTokenAsTarget) {
  const auto dataset = corpus({.validation_share = 0.2, .context = 8, .batch_size = 4, .seed = 3}).training();
  EXPECT_EQ(dataset->batches_per_epoch(), 80 / 32);
  std::set<int32_t> starts;
  for (int64_t index = 0; index < 200; ++index) {
    const Batch batch = dataset->batch(index);
    EXPECT_THAT(batch.input.offsets, testing::ElementsAre(0, 8, 16, 24, 32));
    EXPECT_EQ(batch.counted, 32);
    const std::vector<int32_t> ids = numbers(batch.input.ids), targets = numbers(batch.targets);
    const std::vector<int32_t> positions = numbers(batch.input.position_ids);
    for (size_t i = 0; i < 32; ++i) {
      EXPECT_EQ(ids[i], ids[i / 8 * 8] + static_cast<int32_t>(i % 8));
      EXPECT_EQ(targets[i], ids[i] + 1);
      EXPECT_EQ(positions[i], static_cast<int32_t>(i % 8));
      ASSERT_LT(targets[i], 80);
    }
    for (size_t i = 0; i < 32; i += 8) starts.insert(ids[i]);
  }
  // 800 blocks out of 72 possible starts reach both ends of the part.
  EXPECT_EQ(*starts.begin(), 0);
  EXPECT_EQ(*starts.rbegin(), 71);
}

TEST(TextCorpus, BatchesDependOnSeedAndIndexAlone) {
  const TextCorpusConfig config{.context = 8, .batch_size = 4, .seed = 3};
  const auto one = corpus(config).training();
  const auto two = corpus(config).training();
  one->batch(5);
  EXPECT_EQ(numbers(one->batch(9).input.ids), numbers(two->batch(9).input.ids));
  EXPECT_NE(numbers(one->batch(9).input.ids), numbers(one->batch(10).input.ids));
  const auto other = corpus({.context = 8, .batch_size = 4, .seed = 4}).training();
  EXPECT_NE(numbers(one->batch(9).input.ids), numbers(other->batch(9).input.ids));
  EXPECT_EQ(one->fingerprint(), two->fingerprint());
  EXPECT_NE(one->fingerprint(), other->fingerprint());
  EXPECT_NE(one->fingerprint(), corpus(config, 99).training()->fingerprint());
}

TEST(TextCorpus, FourSmallBatchesAreOneLargeBatch) {
  const auto small = corpus({.context = 8, .batch_size = 2}).training();
  const auto large = corpus({.context = 8, .batch_size = 8}).training();
  std::vector<int32_t> ids;
  for (int64_t index = 4; index < 8; ++index) {
    const std::vector<int32_t> part = numbers(small->batch(index).input.ids);
    ids.insert(ids.end(), part.begin(), part.end());
  }
  EXPECT_EQ(ids, numbers(large->batch(1).input.ids));
}

TEST(TextCorpus, ValidationPredictsEveryTokenOfTheLastPartOnceInOrder) {
  const auto dataset = corpus({.validation_share = 0.22, .context = 8, .batch_size = 2}).validation();
  ASSERT_EQ(dataset->batches_per_epoch(), 2);  // 21 predictions: blocks of 8, 8 and 5
  EXPECT_THAT(dataset->batch(0).input.offsets, testing::ElementsAre(0, 8, 16));
  EXPECT_THAT(dataset->batch(1).input.offsets, testing::ElementsAre(0, 5));
  std::vector<int32_t> targets;
  for (int64_t index = 0; index < 2; ++index) {
    const std::vector<int32_t> part = numbers(dataset->batch(index).targets);
    targets.insert(targets.end(), part.begin(), part.end());
  }
  ASSERT_EQ(targets.size(), 21u);
  for (size_t i = 0; i < targets.size(); ++i) EXPECT_EQ(targets[i], 79 + static_cast<int32_t>(i));
}

TEST(TextCorpus, NoShareNoValidation) {
  EXPECT_EQ(corpus({.validation_share = 0.0, .context = 8}).validation(), nullptr);
}

TEST(TextCorpus, RefusesTextsItCannotUse) {
  const auto letters = text::CharacterTokenizer::train("abc");
  const auto message = [&](const std::string& text, const TextCorpusConfig& config) -> std::string {
    try {
      TextCorpus(text, "some.txt", letters, config);
      return "no error";
    } catch (const Error& error) {
      return error.what();
    }
  };
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_THAT(message("", {}), HasSubstr("some.txt: expected some text to train on, the file is empty"));
  EXPECT_THAT(message("abcxabc", {.context = 2}),
              AllOf(HasSubstr("some.txt: character tokenizer: 'x' (U+0078, byte 3)")));
  EXPECT_THAT(message("abcabcabca", {.context = 9}),
              HasSubstr("too short: its training part has 9 tokens, and blocks of context + 1 = 10 are drawn from it"));
  EXPECT_THAT(message("abcabcabca", {.context = 2}), HasSubstr("too short: its validation part has 1 tokens"));
  EXPECT_THAT(message("abc", {.validation_share = 1.0}), HasSubstr("validation_share is in [0, 1), got 1"));
  EXPECT_THAT(message("abc", {.context = 0}), HasSubstr("context is 1 or more, got 0"));
  EXPECT_THAT(message("abc", {.batch_size = 0}), HasSubstr("batch_size is 1 or more, got 0"));
}

TEST(ReadText, SaysWhatIsWrongWithTheFile) {
  const testing_support::TemporaryFolder folder;
  const std::string empty = folder / "empty.txt";
  write_file_atomically(empty, "");
  EXPECT_THAT([&] { read_text(empty); }, testing::ThrowsMessage<FormatError>(testing::HasSubstr("the file is empty")));
  EXPECT_THAT([&] { read_text("/nowhere/text.txt"); },
              testing::ThrowsMessage<IoError>(testing::HasSubstr("/nowhere/text.txt")));
}

}  // namespace
}  // namespace weft::data
