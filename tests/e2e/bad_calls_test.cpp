#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/temporary_folder.h"
#include "weft/base/files.h"

namespace weft::testing {
namespace {

using ::testing::HasSubstr;

// A call that cannot work, the status it ends with (2: the call is wrong, 1: what it met is), and what it must say.
struct BadCall {
  std::string name;
  std::string arguments;  // {} stands for a temporary folder holding the files of the fixture below
  int status;
  std::string message;
};

void PrintTo(const BadCall& call, std::ostream* out) { *out << call.arguments; }

class BadCallTest : public ::testing::TestWithParam<BadCall> {
 protected:
  BadCallTest() {
    write("empty.toml", "");
    write("no-data.toml", "[task]\nname = \"language_model\"\n[train]\nsteps = 1\n");
    write("syntax.toml", "[task\n");
    write("unknown-key.toml", "[train]\nstep = 5\n");
    write("tiny.toml", tiny("tiny.txt"));
    write("missing-text.toml", tiny("nowhere.txt"));
    write("empty-text.toml", tiny("empty.txt"));
    write("short-text.toml", tiny("short.txt"));
    write("tiny.txt", fmt::format("{:a<400}bc", ""));
    write("empty.txt", "");
    write("short.txt", "abc");
    write("model/config.json", "{\"model_type\": \"bert\"}");
    write("truncated/config.json", "{\"model_type\": \"weft\", ");
    write(
        "no-weights/config.json",
        R"({"model_type": "weft", "architecture": "causal_lm", "vocab_size": 5, "d_model": 8, "heads": 2, "layers": 1})");
    write(
        "bad-weights/config.json",
        R"({"model_type": "weft", "architecture": "causal_lm", "vocab_size": 5, "d_model": 8, "heads": 2, "layers": 1})");
    write("bad-weights/model.safetensors", "not a safetensors file");
  }

  std::string tiny(const std::string& file) const {
    return "[data]\nfile = \"" + (folder_ / file).string() +
           "\"\n[model]\nmax_length = 8\nd_model = 8\nheads = 2\nlayers = 1\n[train]\nsteps = 1\nbatch_size = 2\n";
  }

  void write(const std::string& name, const std::string& text) {
    make_folders((folder_ / name).parent_path());
    write_file_atomically(folder_ / name, text);
  }

  ProgramResult run(std::string arguments) const {
    for (size_t place = arguments.find("{}"); place != std::string::npos; place = arguments.find("{}", place)) {
      arguments.replace(place, 2, folder_.path().string());
    }
    return run_weft(arguments);
  }

  testing_support::TemporaryFolder folder_;
};

TEST_P(BadCallTest, EndsWithAMessage) {
  const BadCall& call = GetParam();
  const ProgramResult result = run(call.arguments);
  EXPECT_EQ(result.status, call.status) << result.err;
  EXPECT_THAT(result.err, HasSubstr("error: "));
  EXPECT_THAT(result.err, HasSubstr(call.message));
  EXPECT_EQ(result.out, "");
}

const BadCall kBadCalls[] = {
    {"NoCommand", "", 2, "A subcommand is required"},
    {"UnknownCommand", "trian", 2, "there is no command \"trian\"; did you mean \"train\"?"},
    {"UnknownFlag", "train --outt x", 2, "--outt"},
    {"TrainNothing", "train", 2, "expected a recipe"},
    {"TrainTwice", "train {}/tiny.toml --resume {}/run", 2, "one of them"},
    {"ResumeWithOut", "train --resume {}/run --out {}/other", 2, "--out is for new runs"},
    {"MissingRecipe", "train {}/nowhere.toml --out {}/run", 1, "nowhere.toml"},
    {"RecipeIsFolder", "train {} --out {}/run", 1, "Is a directory"},
    {"BadSyntax", "train {}/syntax.toml --out {}/run", 1, "syntax.toml"},
    {"UnknownKey", "train {}/unknown-key.toml --out {}/run", 1, "did you mean \"steps\""},
    {"NoDataFile", "train {}/no-data.toml --out {}/run", 1, "data.file"},
    {"MissingText", "train {}/missing-text.toml --out {}/run", 1, "nowhere.txt"},
    {"EmptyText", "train {}/empty-text.toml --out {}/run", 1, "empty"},
    {"ShortText", "train {}/short-text.toml --out {}/run", 1, "short"},
    {"BadOverride", "train {}/tiny.toml --out {}/run --set train.steps", 2, "table.key=value"},
    {"UnknownOverride", "train {}/tiny.toml --out {}/run --set train.stepz=3", 1, "stepz"},
    {"OverrideOfWrongType", "train {}/tiny.toml --out {}/run --set train.steps=many", 1, "many"},
    {"NegativeSteps", "train {}/tiny.toml --out {}/run --set train.steps=-1", 1, "steps"},
    {"HeadsDoNotDivide", "train {}/tiny.toml --out {}/run --set model.heads=3", 1,
     "d_model 8 is not a multiple of heads 3"},
    {"BadPrecision", "train {}/tiny.toml --out {}/run --precision f64", 2, "f64"},
    {"BadThreads", "train {}/tiny.toml --out {}/run --threads -2", 2, "threads"},
    {"BadSeed", "train {}/tiny.toml --out {}/run --seed x", 2, "seed"},
    {"ResumeNothing", "train --resume {}/nowhere", 1, "nowhere"},
    {"EvalNothing", "eval {}/nowhere", 1, "nowhere"},
    {"EvalWithoutRun", "eval", 2, "run is required"},
    {"GenerateNothing", "generate {}/nowhere --prompt a", 1, "nowhere"},
    {"GenerateOtherModel", "generate {}/model --prompt a", 1, "bert"},
    {"GenerateTruncatedConfig", "generate {}/truncated --prompt a", 1, "config.json"},
    {"GenerateNoWeights", "generate {}/no-weights --prompt a", 1, "model.safetensors"},
    {"GenerateBadWeights", "generate {}/bad-weights --prompt a", 1, "model.safetensors"},
    {"BadTopP", "generate {}/model --prompt a --top-p 1.5", 2, "top-p"},
    {"BadTopK", "generate {}/model --prompt a --top-k -1", 2, "top-k"},
    {"BadTemperature", "generate {}/model --prompt a --temperature -1", 2, "temperature"},
    {"BadMaxTokens", "generate {}/model --prompt a --max-new-tokens 0", 2, "max-new-tokens"},
    {"BeamAndSampling", "generate {}/model --prompt a --beam-size 3 --temperature 0.5", 2, "expected one of them"},
    {"BeamAndSeed", "generate {}/model --prompt a --n-best 2 --seed 3", 2, "expected one of them"},
    {"NBestBeyondBeam", "generate {}/model --prompt a --beam-size 2 --n-best 3", 2, "--beam-size of as many, got 2"},
    {"ScoresOfNothing", "generate {}/model --prompt a --scores", 2, "add --beam-size"},
    {"BadBeamSize", "generate {}/model --prompt a --beam-size 0", 2, "beam-size"},
    {"BadLengthPenalty", "generate {}/model --prompt a --length-penalty many", 2, "length-penalty"},
    {"BadEarlyStopping", "generate {}/model --prompt a --early-stopping always", 2, "early-stopping"},
    {"TranslateWithoutRun", "translate", 2, "run is required"},
    {"TranslateNothing", "translate {}/nowhere --text a", 1, "nowhere"},
    {"TranslateNBest", "translate {}/model --beam-size 2 --n-best 5", 2, "--beam-size of as many, got 2"},
    {"TranslateBadLength", "translate {}/model --max-new-tokens 0", 2, "max-new-tokens"},
    {"TranslateSample", "translate {}/model --temperature 1", 2, "--temperature"},
    {"FillMaskNothing", "fill-mask {}/nowhere --text [MASK]", 1, "nowhere"},
    {"FillMaskTopK", "fill-mask {}/model --text [MASK] --top-k 0", 2, "top-k"},
    {"ClassifyNothing", "classify {}/nowhere --text a", 1, "nowhere"},
    {"ClassifyPrecision", "classify {}/model --text a --precision f16", 2, "precision"},
    {"AttentionWithoutOut", "attention {}/model --text a", 2, "--out is required"},
    {"AttentionOtherForm", "attention {}/model --text a --out maps.png", 2, "ends in .json or .html, got maps.png"},
    {"AttentionNothing", "attention {}/nowhere --text a --out {}/maps.json", 1, "nowhere"},
    {"InspectNothing", "inspect {}/nowhere", 1, "nowhere"},
    {"InspectNoWeights", "inspect {}/no-weights", 1, "model.safetensors"},
    {"BenchWhat", "bench", 2, "subcommand"},
    {"BenchPreset", "bench train --preset huge", 2, "known: count, rank, bert, char-gpt, gpt2-124m"},
    {"BenchPacking", "bench train --preset count --packing padded", 2, "--packing is for rank and bert"},
    {"BenchVocabulary", "bench train --preset rank --vocab-size 9", 2, "leave --vocab-size away"},
    {"BenchSteps", "bench train --steps 0", 2, "steps"},
    {"BenchShape", "bench train --preset count --heads 7", 1, "d_model 256 is not a multiple of heads 7"},
};

INSTANTIATE_TEST_SUITE_P(Program, BadCallTest, ::testing::ValuesIn(kBadCalls),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::testing
