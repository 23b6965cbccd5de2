#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "weft/base/files.h"
#include "weft/text/training/tokenizer_trainer.h"

namespace weft::text {
namespace {

// How many strings are tried; WEFT_ROUND_TRIPS=1000000 in the environment for the long form.
int64_t round_trips() {
  const char* asked = std::getenv("WEFT_ROUND_TRIPS");
  return asked != nullptr ? std::atoll(asked) : 20000;
}

// Characters of all kinds: ASCII, other alphabets, ideographs, emoji with joiners, controls, marks, unassigned ones.
char32_t random_character(std::mt19937_64& random) {
  constexpr std::pair<char32_t, char32_t> ranges[] = {
      {0x20, 0x7e},     {0x20, 0x20},       {0x0, 0x1f},        {0x80, 0x24f},      {0x300, 0x36f},
      {0x370, 0x6ff},   {0x900, 0xe7f},     {0x2000, 0x206f},   {0x3040, 0x9fff},   {0xac00, 0xd7a3},
      {0xe000, 0xffff}, {0x1f1e6, 0x1f9ff}, {0x20000, 0x2fa1f}, {0x10000, 0x10ffff}};
  const auto [first, last] = ranges[random() % std::size(ranges)];
  return first + static_cast<char32_t>(random() % (last - first + 1));
}

std::string random_text(std::mt19937_64& random) {
  std::string text;
  for (uint64_t length = random() % 40; length > 0; --length) {
    const char32_t character = random_character(random);
    for (uint64_t times = random() % 8 == 0 ? 1 + random() % 5 : 1; times > 0; --times) append_utf8(character, text);
  }
  return text;
}

TEST(ByteLevelRoundTrip, GivesBackRandomAndRealTexts) {
  const std::string corpus = read_file(WEFT_SOURCE_DIR "/data/tinyshakespeare.txt");
  TokenizerTrainerConfig config;
  config.vocab_size = 2000;
  TokenizerTrainer trainer(config);
  trainer.add_text(corpus);
  const std::unique_ptr<PipelineTokenizer> tokenizer = trainer.finish();
  std::mt19937_64 random(1);
  for (int64_t i = 0; i < round_trips(); ++i) {
    std::string text;
    if (i % 2 == 0) {
      text = random_text(random);
    } else {
      text = corpus.substr(random() % corpus.size(), random() % 200);
      text.insert(random() % (text.size() + 1), random_text(random));
    }
    ASSERT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
}

// Bytes that are not UTF-8 come back as what they are read as.
TEST(ByteLevelRoundTrip, GivesBackBadBytesRepaired) {
  TokenizerTrainer trainer{TokenizerTrainerConfig()};
  trainer.add_text("a few words");
  const std::unique_ptr<PipelineTokenizer> tokenizer = trainer.finish();
  std::mt19937_64 random(2);
  for (int64_t i = 0; i < round_trips() / 4; ++i) {
    std::string bytes(random() % 24, '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random() % 3 == 0 ? 0x80 + random() % 0x80 : 0xe0 + random() % 0x20);
    ASSERT_EQ(tokenizer->decode(tokenizer->encode(bytes)), repair_utf8(bytes));
  }
}

}  // namespace
}  // namespace weft::text
