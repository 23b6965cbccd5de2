#include "weft/text/training/word_counter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void split_words(std::string_view line, FunctionRef<void(std::string_view)> emit) {
  for (std::string_view word : split_whitespace(line)) emit(word);
}

std::vector<WordCount> count(std::string_view text, const WordCounterConfig& config) {
  WordCounter counter(split_words, config);
  counter.add_text(text);
  return counter.finish();
}

// Sixty thousand words out of a few hundred, on lines of different lengths.
std::string long_text() {
  std::string text;
  uint32_t state = 1;
  for (int i = 0; i < 60000; ++i) {
    state = state * 1664525 + 1013904223;
    text += "w" + std::to_string((state >> 16) % 700 * ((state >> 8) % 3));
    text += (state >> 24) % 7 == 0 ? "\n" : " ";
  }
  return text;
}

TEST(WordCounter, CountsWordsOfAllTexts) {
  WordCounter counter(split_words);
  counter.add_text("b a\nb");
  counter.add_text("a\n\nb c");
  EXPECT_EQ(counter.bytes_read(), 11u);
  EXPECT_THAT(counter.finish(), ElementsAre(WordCount{"a", 2}, WordCount{"b", 3}, WordCount{"c", 1}));
}

TEST(WordCounter, GivesTheSplitterLinesWithTheirEnds) {
  std::vector<std::string> lines;
  WordCounter counter([&](std::string_view line, auto) { lines.emplace_back(line); });
  counter.add_text("one\n\ntwo");
  counter.finish();
  EXPECT_THAT(lines, ElementsAre("one\n", "\n", "two"));
}

TEST(WordCounter, DoesNotDependOnThreadsOrBlocks) {
  const std::string text = long_text();
  const std::vector<WordCount> whole = count(text, {});
  EXPECT_GT(whole.size(), 500u);
  for (const size_t block_bytes : {100, 4096}) EXPECT_EQ(count(text, {.block_bytes = block_bytes}), whole);
  const int threads = thread_count();
  for (const int other : {1, 2, 5}) {
    set_thread_count(other);
    EXPECT_EQ(count(text, {.block_bytes = 4096}), whole) << other << " threads";
  }
  set_thread_count(threads);
}

TEST(WordCounter, ReadsFilesAsTexts) {
  const testing_support::TemporaryFolder folder;
  const std::string text = long_text();
  testing_support::write_unsynced(folder / "text", text);
  WordCounter counter(split_words, {.block_bytes = 1000});
  counter.add_file(folder / "text");
  EXPECT_EQ(counter.bytes_read(), text.size());
  EXPECT_EQ(counter.finish(), count(text, {}));
}

TEST(WordCounter, CutsLongLinesAtBlanksOrBetweenCharacters) {
  EXPECT_THAT(count("aaaaaaaa bbbbbbbbbbbb", {.block_bytes = 16}),
              ElementsAre(WordCount{"aaaaaaaa", 1}, WordCount{"bbbbbbbbbbbb", 1}));
  // 18 bytes of six characters: a block takes five of them.
  EXPECT_THAT(count("€€€€€€", {.block_bytes = 16}), ElementsAre(WordCount{"€", 1}, WordCount{"€€€€€", 1}));
}

TEST(WordCounter, CutsLongWords) {
  EXPECT_THAT(count("€€€€€", {.max_word_characters = 2}), ElementsAre(WordCount{"€", 1}, WordCount{"€€", 2}));
}

TEST(WordCounter, ForgetsRareWordsToStayInItsBounds) {
  // 40,000 words seen once among some that are frequent, in blocks that make several rounds.
  std::string text;
  for (int i = 0; i < 40000; ++i) text += "once" + std::to_string(i) + " often" + std::to_string(i % 10) + "\n";
  WordCounter counter(split_words, {.block_bytes = 4096, .max_table_bytes = 300000});
  counter.add_text(text);
  const std::vector<WordCount> counts = counter.finish();
  EXPECT_GE(counter.forgotten_up_to(), 1u);
  EXPECT_LT(counts.size(), 8000u);
  for (int i = 0; i < 10; ++i) EXPECT_THAT(counts, ::testing::Contains(WordCount{"often" + std::to_string(i), 4000}));
}

TEST(WordCounter, SaysWhichFileCannotBeRead) {
  const testing_support::TemporaryFolder folder;
  WordCounter counter(split_words);
  EXPECT_THAT(testing_support::message_of([&] { counter.add_file(folder / "missing"); }),
              HasSubstr("missing: No such file"));
  EXPECT_THAT(testing_support::message_of([&] { counter.add_file(folder.path()); }), HasSubstr("it is a folder"));
}

}  // namespace
}  // namespace weft::text
