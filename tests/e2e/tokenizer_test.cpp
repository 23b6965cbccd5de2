#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/temporary_folder.h"
#include "weft/base/json.h"

namespace weft::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TokenizerProgramTest : public ::testing::Test {
 protected:
  TokenizerProgramTest() {
    testing_support::write_unsynced(folder_ / "text", "a rose is a rose is a rose\nrose is rose\n");
  }

  std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }
  void train(const std::string& arguments) {
    const ProgramResult result =
        run_weft("tokenizer train " + arguments + " --out " + in_folder("tok") + " " + in_folder("text"));
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("tokenizer.json"));
  }
  ProgramResult run(const std::string& command, const std::string& arguments, const std::string& input) const {
    return run_weft("tokenizer " + command + " " + in_folder("tok") + " " + arguments, input);
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(TokenizerProgramTest, EncodesLinesAndDecodesThemAgain) {
  train("--kind bpe --vocab-size 270");
  const std::string text = "a rose\n\nwith a t\xc3\xbclip \n last";
  const ProgramResult ids = run("encode", "", text);
  EXPECT_EQ(ids.status, 0) << ids.err;
  EXPECT_EQ(std::ranges::count(ids.out, '\n'), 4);
  const ProgramResult decoded = run("decode", "", ids.out);
  EXPECT_EQ(decoded.out, text + "\n");
}

TEST_F(TokenizerProgramTest, IsTheSameForAnyNumberOfThreadsAndAnyLength) {
  train("--kind bpe --vocab-size 270");
  std::string text;
  for (int i = 0; i < 40000; ++i)
    text += "rose number " + std::to_string(i * 7919 % 1000) + std::string(i % 50, 'x') + "\n";
  const ProgramResult one = run("encode", "--threads 1", text);
  EXPECT_EQ(std::ranges::count(one.out, '\n'), 40000);
  EXPECT_EQ(run("encode", "--threads 3", text).out, one.out);
  EXPECT_EQ(run("decode", "--threads 3", one.out).out, text);
}

TEST_F(TokenizerProgramTest, PrintsEverythingAsJson) {
  train("--kind wordpiece --vocab-size 40");
  const ProgramResult result =
      run("encode", "--json --input jsonl", "{\"text\": \"Rose\\nis\", \"pair\": \"a\"}\n\"a\"\n");
  ASSERT_EQ(result.status, 0) << result.err;
  const size_t line_end = result.out.find('\n');
  const Json first = parse_json(result.out.substr(0, line_end), "first line");
  EXPECT_EQ(first["tokens"], Json({"[CLS]", "rose", "is", "[SEP]", "a", "[SEP]"}));
  EXPECT_EQ(first["offsets"], parse_json("[[0,0],[0,4],[5,7],[0,0],[0,1],[0,0]]", ""));
  EXPECT_EQ(first["type_ids"], Json({0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(first["attention_mask"], Json({1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(first["special_tokens_mask"], Json({1, 0, 0, 1, 0, 1}));
  EXPECT_EQ(first["word_ids"], parse_json("[null,0,1,null,0,null]", ""));
  EXPECT_EQ(first["ids"].size(), 6u);
  EXPECT_EQ(first.size(), 7u);
  const Json second = parse_json(result.out.substr(line_end), "second line");
  EXPECT_EQ(second["tokens"], Json({"[CLS]", "a", "[SEP]"}));
}

TEST_F(TokenizerProgramTest, TruncatesAndPads) {
  train("--kind word");  // <unk>, rose, a, is
  const std::string text = "rose is a rose is\na\n";
  EXPECT_EQ(run("encode", "--max-length 3", text).out, "1 3 2\n2\n");
  EXPECT_THAT(run("encode", "--padding longest", text).err, HasSubstr("the tokenizer has no padding token"));
  train("--kind word --pad [PAD]");  // [PAD], <unk>, rose, a, is
  EXPECT_EQ(run("encode", "--padding longest", text).out, "2 4 3 2 4\n3 0 0 0 0\n");
  EXPECT_EQ(run("encode", "--padding max-length --max-length 4", text).out, "2 4 3 2\n3 0 0 0\n");
  EXPECT_EQ(run("encode", "--padding 3", text).out, "2 4 3 2 4\n3 0 0\n");
  const ProgramResult bad = run("encode", "--padding wide", text);
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.err, HasSubstr("expected longest, max-length or a length, got \"wide\""));
}

// Three blocks of lines, whose answers are too large to be kept until their turn comes.
TEST_F(TokenizerProgramTest, PrintsLargeAnswersInOrder) {
  train("--kind word --pad [PAD]");
  std::string text, expected;
  for (int i = 0; i < 9000; ++i) {
    text += i % 7 == 0 ? "rose rose\n" : i % 2 == 0 ? "a rose" + std::string(60, ' ') + "\n" : "is a\n";
    expected += i % 7 == 0 ? "2 2" : i % 2 == 0 ? "3 2" : "4 3";
    for (int pad = 2; pad < 4000; ++pad) expected += " 0";
    expected += '\n';
  }
  EXPECT_TRUE(run("encode", "--padding 4000 --threads 3", text).out == expected);
  EXPECT_TRUE(run("encode", "--padding 4000 --threads 1", text).out == expected);
}

TEST_F(TokenizerProgramTest, ShowsTheWindowsThatTruncationCutOff) {
  train("--kind bpe --vocab-size 260");
  const ProgramResult result = run("encode", "--max-length 3 --stride 1 --json", "xyzw\n");
  const Json line = parse_json(result.out, "line");
  EXPECT_EQ(line["tokens"], Json({"x", "y", "z"}));
  ASSERT_EQ(line["overflowing"].size(), 1u);
  EXPECT_EQ(line["overflowing"][0]["tokens"], parse_json("[\"z\", \"w\"]", ""));
  EXPECT_EQ(run("encode", "--stride 1", "a\n").status, 2);
}

TEST_F(TokenizerProgramTest, AddsAndSkipsSpecialTokens) {
  train("--kind word --bos [B] --eos [E]");  // <unk>, [B], [E], rose, a, is
  EXPECT_EQ(run("encode", "", "a rose\n").out, "1 4 3 2\n");
  EXPECT_EQ(run("encode", "--no-special-tokens", "a rose\n").out, "4 3\n");
  EXPECT_EQ(run("decode", "", "1 4 3 2\n").out, "[B] a rose [E]\n");
  EXPECT_EQ(run("decode", "--skip-special-tokens", "1 4 3 2\n").out, "a rose\n");
  EXPECT_EQ(run("decode", "--input jsonl --json", "[4, 3]\n[]\n").out, "{\"text\":\"a rose\"}\n{\"text\":\"\"}\n");
}

TEST_F(TokenizerProgramTest, SaysInWhichLineTheInputIsWrong) {
  train("--kind bpe --vocab-size 260");
  const auto expect_error = [&](const ProgramResult& result, const std::string& message) {
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr(message));
  };
  const ProgramResult ids = run("decode", "", "64\n64 x\n64\n");
  expect_error(ids, "standard input, line 2: expected ids separated by blanks, got \"x\"");
  EXPECT_EQ(ids.out, "a\n") << "what comes before is printed";
  expect_error(run("decode", "", "64 260\n"), "line 1: the id 260 is not among the 260");
  expect_error(run("decode", "", "-1\n"), "line 1: the id -1");
  expect_error(run("decode", "", "99999999999\n"), "line 1: expected ids");
  expect_error(run("decode", "--input jsonl", "[1]\n{\"a\": 1}\n"), "line 2: ");
  expect_error(run("encode", "--input jsonl", "\"a\"\n\n"), "line 2: ");
  expect_error(run("encode", "--input jsonl", "{\"texts\": \"a\"}\n"), "did you mean \"text\"?");
  expect_error(run("encode", "--input jsonl", "7\n"), "expected a string or an object");
}

TEST_F(TokenizerProgramTest, ReadsBadBytesAsReplacementCharacters) {
  train("--kind bpe --vocab-size 260");
  const ProgramResult ids = run("encode", "",
                                "a\xff"
                                "b\n");
  EXPECT_EQ(ids.status, 0) << ids.err;
  EXPECT_EQ(run("decode", "", ids.out).out,
            "a\xef\xbf\xbd"
            "b\n");
  EXPECT_THAT(run("encode", "", "").out, IsEmpty());
}

TEST_F(TokenizerProgramTest, ShowsWhatATokenizerIsMadeOf) {
  train("--kind unigram --vocab-size 20 --bos [B]");
  const ProgramResult text = run("inspect", "", "");
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("Sequence[Split, Metaspace]"));
  const Json json = parse_json(run("inspect", "--json", "").out, "inspect");
  EXPECT_EQ(json["model"], "Unigram");
  EXPECT_EQ(json["special"]["bos"]["token"], "[B]");
}

TEST_F(TokenizerProgramTest, RefusesBadCallsOfTraining) {
  const auto call = [&](const std::string& arguments) {
    return run_weft("tokenizer train --out " + in_folder("out") + " " + arguments);
  };
  const ProgramResult kind = call("--kind bqe " + in_folder("text"));
  EXPECT_EQ(kind.status, 2);
  EXPECT_THAT(kind.err, HasSubstr("did you mean \"bpe\"?"));
  const ProgramResult file = call("--kind bpe " + in_folder("missing"));
  EXPECT_EQ(file.status, 1);
  EXPECT_THAT(file.err, HasSubstr("missing: No such file"));
  EXPECT_EQ(call("--kind bpe --vocab-size 0 " + in_folder("text")).status, 2);
  EXPECT_EQ(call("--kind bpe").status, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

}  // namespace
}  // namespace weft::testing
