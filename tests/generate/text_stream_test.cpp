#include "weft/generate/text_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/generate/generation_config.h"
#include "weft/text/byte.h"
#include "weft/text/tokenizer_file.h"
#include "weft/text/word.h"

namespace weft::generate {
namespace {

std::vector<std::string> pieces(const text::Tokenizer& tokenizer, const std::vector<int32_t>& prompt,
                                const std::vector<int32_t>& ids) {
  TextStream stream(tokenizer);
  stream.skip(prompt);
  std::vector<std::string> result;
  for (const int32_t id : ids) result.push_back(stream.push(id));
  result.push_back(stream.finish());
  return result;
}

TEST(TextStream, ShowsWholeCharactersOnly) {
  const text::ByteTokenizer tokenizer;
  EXPECT_THAT(pieces(tokenizer, {}, tokenizer.encode("aé€")), testing::ElementsAre("a", "", "é", "", "", "€", ""));
  EXPECT_THAT(pieces(tokenizer, {}, {0xc3}), testing::ElementsAre("", "\ufffd"));
}

TEST(TextStream, PutsTheSpacesThatDecodingTheWholeWould) {
  const text::WordTokenizer tokenizer(text::number_words(100));
  EXPECT_THAT(pieces(tokenizer, {1, 43}, {44, 45, 2}), testing::ElementsAre(" 41", " 42", "", ""));
  EXPECT_THAT(pieces(tokenizer, {}, {1, 43, 44}), testing::ElementsAre("", "40", " 41", ""));
  std::vector<int32_t> many(50, 7);
  std::string joined;
  for (const std::string& piece : pieces(tokenizer, {}, many)) joined += piece;
  EXPECT_EQ(joined, tokenizer.decode(many));
}

// LLaMA-2's form: characters that are not in the vocabulary are tokens of one byte each.
TEST(TextStream, HoldsBytesUntilTheyAreACharacter) {
  const std::string path = WEFT_SOURCE_DIR "/tests/fixtures/tokenizers/llama-form/tokenizer.json";
  const auto tokenizer = text::load_tokenizer(path);
  for (const std::string text : {"to be \u4e2d\U0001f600 or", "\u4e2d", "\ufffd x", "a\ufffd"}) {
    const std::vector<int32_t> ids = tokenizer->encode(text);
    std::string joined;
    for (const std::string& piece : pieces(*tokenizer, {}, ids)) {
      EXPECT_TRUE(text::is_utf8(piece));
      joined += piece;
    }
    EXPECT_EQ(joined, tokenizer->decode(ids));
  }
}

TEST(GenerationConfig, IsReadAsWritten) {
  const testing_support::TemporaryFolder temporary;
  const std::filesystem::path& folder = temporary.path();
  EXPECT_FALSE(load_generation_config(folder).bos_id.has_value());
  save_generation_config(folder, {.bos_id = 1, .eos_id = 2, .max_new_tokens = 15});
  const GenerationConfig config = load_generation_config(folder);
  EXPECT_EQ(config.bos_id, 1);
  EXPECT_EQ(config.eos_id, 2);
  EXPECT_EQ(config.max_new_tokens, 15);
  EXPECT_THAT(encode_prompt(text::WordTokenizer(text::number_words(100)), config, "40"), testing::ElementsAre(1, 43));
  write_file_atomically(folder / "generation_config.json", R"({"max_new_tokens": -1})");
  EXPECT_THAT([&] { load_generation_config(folder); },
              testing::ThrowsMessage<FormatError>(
                  testing::HasSubstr("max_new_tokens: expected a whole number of 1 or more, got -1")));
}

}  // namespace
}  // namespace weft::generate
