#include "weft/text/training/tokenizer_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"
#include "weft/base/files.h"
#include "weft/text/tokenizer_file.h"

namespace weft::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum TokenizerKind;

constexpr std::string_view sample =
    "the cat sat on the mat.\nThe cat, it is said, sat there\nthe  whole day; the mat was warm.\n";

std::unique_ptr<PipelineTokenizer> train(const TokenizerTrainerConfig& config, std::string_view text = sample) {
  TokenizerTrainer trainer(config);
  trainer.add_text(text);
  return trainer.finish();
}

TokenizerTrainerConfig settings(TokenizerKind kind, int32_t vocab_size) {
  TokenizerTrainerConfig config;
  config.kind = kind;
  config.vocab_size = vocab_size;
  return config;
}

struct KindCase {
  std::string name;
  int32_t vocab_size;
  bool lossless;
};

void PrintTo(const KindCase& kind, std::ostream* out) { *out << kind.name; }

class TokenizerKindTest : public ::testing::TestWithParam<KindCase> {
 protected:
  std::unique_ptr<PipelineTokenizer> trained() const {
    return train(settings(parse_tokenizer_kind(GetParam().name), GetParam().vocab_size));
  }
};

TEST_P(TokenizerKindTest, IsTheSameOnceSavedAndLoaded) {
  const auto tokenizer = trained();
  const testing_support::TemporaryFolder folder;
  save_tokenizer(*tokenizer, folder.path());
  const std::unique_ptr<Tokenizer> loaded = load_tokenizer(folder.path());
  EXPECT_EQ(loaded->vocab_size(), tokenizer->vocab_size());
  EXPECT_EQ(loaded->special(), tokenizer->special());
  EXPECT_EQ(loaded->encode(sample), tokenizer->encode(sample));
  const auto* pipeline = dynamic_cast<const PipelineTokenizer*>(loaded.get());
  ASSERT_NE(pipeline, nullptr);
  EXPECT_EQ(pipeline->document(), tokenizer->document());
}

TEST_P(TokenizerKindTest, GivesBackItsTextWhereItIsLossless) {
  const auto tokenizer = trained();
  const std::vector<int32_t> ids = tokenizer->encode(sample);
  if (const auto unknown = tokenizer->special().unk) {
    EXPECT_THAT(ids, ::testing::Not(::testing::Contains(*unknown)));
  }
  if (GetParam().lossless) {
    EXPECT_EQ(tokenizer->decode(ids), sample);
  }
}

TEST_P(TokenizerKindTest, TrainsAlikeOnAFileAndOnItsText) {
  const testing_support::TemporaryFolder folder;
  testing_support::write_unsynced(folder / "text", sample);
  TokenizerTrainer trainer(settings(parse_tokenizer_kind(GetParam().name), GetParam().vocab_size));
  trainer.add_file(folder / "text");
  EXPECT_EQ(trainer.finish()->document(), trained()->document());
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerKindTest,
                         ::testing::Values(KindCase{"bpe", 280, true}, KindCase{"bpe-character", 50, true},
                                           KindCase{"unigram", 50, true}, KindCase{"wordpiece", 70, false},
                                           KindCase{"word", 100, false}, KindCase{"character", 100, true}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::erase(name, '-');
                           return name;
                         });

TEST(TokenizerTrainer, LearnsByteLevelTokensOfWords) {
  const auto tokenizer = train(settings(bpe, 280));
  EXPECT_EQ(tokenizer->vocab_size(), 280);
  EXPECT_TRUE(tokenizer->find("Ġthe").has_value());
  EXPECT_EQ(tokenizer->special().unk, std::nullopt);
  const std::string bytes = "never seen: \xf0\x9f\x90\x88 žluťoučký";
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(bytes)), bytes);
}

TEST(TokenizerTrainer, SplitsMarkedWordsAtBlanksAndLineEnds) {
  const auto tokenizer = train(settings(bpe_character, 1000), "No more of it\nNo more\n");
  EXPECT_TRUE(tokenizer->find("▁more").has_value());
  for (int32_t id = 1; id < tokenizer->vocab_size(); ++id) {
    const std::string token = tokenizer->token(id);
    EXPECT_EQ(token.find("▁", 1), std::string::npos) << token;
    EXPECT_TRUE(token == "\n" || token.find('\n') == std::string::npos) << token;
  }
}

TEST(TokenizerTrainer, WritesBertsSpecialTokensForWordPiece) {
  const auto tokenizer = train(settings(wordpiece, 100));
  EXPECT_EQ(tokenizer->token(0), "[PAD]");
  const Encoding encoding = tokenizer->encode({.text = "THE", .pair = "cat"}, {});
  EXPECT_THAT(encoding.tokens, ElementsAre("[CLS]", "the", "[SEP]", "cat", "[SEP]"));
  EXPECT_THAT(encoding.type_ids, ElementsAre(0, 0, 0, 1, 1));
  TokenizerTrainerConfig cased = settings(wordpiece, 100);
  cased.cased = true;
  EXPECT_TRUE(train(cased)->find("T").has_value());
  EXPECT_FALSE(tokenizer->find("T").has_value());
}

TEST(TokenizerTrainer, PutsBosAndEosAroundATextWhereTheyAreNamed) {
  TokenizerTrainerConfig config = settings(bpe, 300);
  config.roles.bos = "<s>";
  config.roles.eos = "</s>";
  config.special_tokens = {"<mask>"};
  const auto tokenizer = train(config);
  EXPECT_EQ(tokenizer->special().bos, 0);
  EXPECT_EQ(tokenizer->special().eos, 1);
  EXPECT_EQ(tokenizer->find("<mask>"), 2);
  EXPECT_THAT(tokenizer->encode({.text = "the", .pair = "the"}, {}).tokens,
              ElementsAre("<s>", "the", "</s>", "the", "</s>"));
  EXPECT_THAT(tokenizer->encode({.text = "a<mask>"}, {}).tokens, ElementsAre("<s>", "a", "<mask>", "</s>"));
}

TEST(TokenizerTrainer, LimitsWordsByCountAndFrequency) {
  EXPECT_EQ(train(settings(word, 3))->vocab_size(), 3);
  TokenizerTrainerConfig config = settings(word, 100);
  config.min_frequency = 3;
  const auto tokenizer = train(config);
  EXPECT_EQ(tokenizer->token(0), "<unk>");
  EXPECT_EQ(tokenizer->token(1), "the");
  EXPECT_EQ(tokenizer->vocab_size(), 2);
}

TEST(TokenizerTrainer, RefusesSettingsThatTheKindDoesNotHave) {
  const auto message = [](TokenizerTrainerConfig config) {
    return testing_support::message_of([&] { TokenizerTrainer trainer(config); });
  };
  TokenizerTrainerConfig config = settings(character, 10);
  config.min_frequency = 2;
  EXPECT_THAT(message(config), HasSubstr("this kind of tokenizer has no min_frequency; leave it out"));
  config = settings(bpe, 10);
  config.cased = true;
  EXPECT_THAT(message(config), HasSubstr("no cased"));
  config = settings(bpe, 10);
  config.roles.unk = "<unk>";
  EXPECT_THAT(message(config), HasSubstr("no unknown token"));
  config = settings(wordpiece, 10);
  config.roles.bos = "<s>";
  EXPECT_THAT(message(config), HasSubstr("no bos, eos or pad"));
  config = settings(bpe, 10);
  config.limit_alphabet = 4;
  EXPECT_THAT(message(config), HasSubstr("no limit_alphabet"));
  config = settings(word, 10);
  config.max_token_length = 4;
  EXPECT_THAT(message(config), HasSubstr("no max_token_length"));
  EXPECT_THAT(message(settings(bpe, 0)), HasSubstr("vocab_size must be at least 1"));
  config = settings(bpe, 10);
  config.special_tokens = {""};
  EXPECT_THAT(message(config), HasSubstr("a special token is empty"));
  config.special_tokens = {"\xff"};
  EXPECT_THAT(message(config), HasSubstr("is not UTF-8"));
}

TEST(TokenizerTrainer, SaysWhatIsWrongWithKindOrText) {
  EXPECT_THAT(testing_support::message_of([] { parse_tokenizer_kind("bqe"); }), HasSubstr("did you mean \"bpe\"?"));
  EXPECT_THAT(testing_support::message_of([] { train(settings(bpe, 300), ""); }), HasSubstr("no text to learn from"));
}

}  // namespace
}  // namespace weft::text
