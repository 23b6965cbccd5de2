#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "tests/e2e/program.h"
#include "tests/support/temporary_folder.h"
#include "weft/base/files.h"
#include "weft/base/json.h"

namespace weft::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kRecipe = R"([data]
file = "data/tinyshakespeare.txt"
[model]
max_length = 16
d_model = 16
heads = 2
layers = 1
[train]
steps = 6
batch_size = 4
log_every = 2
eval_every = 3
eval_batches = 2
checkpoint_every = 2
seed = 7
)";

class RunTest : public ::testing::Test {
 protected:
  RunTest() { write_file_atomically(folder_ / "tiny.toml", kRecipe); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // The last line of standard output as JSON; the call must succeed.
  Json call(const std::string& arguments, const std::string& input = "") const {
    const ProgramResult result = run_weft(arguments, input);
    EXPECT_EQ(result.status, 0) << arguments << "\n" << result.err;
    std::istringstream lines(result.out);
    std::string line, last;
    while (std::getline(lines, line)) last = line;
    return parse_json(last, "output");
  }

  // metrics.jsonl without the wall-clock times.
  std::vector<Json> metrics(const std::string& run) const {
    std::istringstream lines(read_file(folder_ / run / "metrics.jsonl"));
    std::vector<Json> result;
    for (std::string line; std::getline(lines, line);) {
      Json object = parse_json(line, "metrics.jsonl");
      object.erase("seconds");
      result.push_back(std::move(object));
    }
    return result;
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(RunTest, TrainsAndReportsWhatItDid) {
  const Json summary = call(fmt::format("train {} --out {} --json", path("tiny.toml"), path("run")));
  EXPECT_EQ(summary.at("steps"), 6);
  EXPECT_EQ(summary.at("tokens"), 6 * 4 * 16);
  EXPECT_GT(summary.at("tokens_per_second"), 0.0);
  EXPECT_GT(summary.at("train_loss"), 1.0);
  EXPECT_GT(summary.at("valid").at("perplexity"), summary.at("valid").at("loss"));
  EXPECT_EQ(summary.at("run"), path("run"));
  const std::vector<Json> lines = metrics("run");
  ASSERT_GE(lines.size(), 4u);
  for (const char* key : {"step", "loss", "learning_rate", "grad_norm", "tokens"})
    EXPECT_TRUE(lines[0].contains(key)) << key;
  for (const char* file :
       {"config.json", "model.safetensors", "tokenizer.json", "recipe.toml", "report.html", "checkpoints/step-6"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / "run" / file)) << file;
  }
  const ProgramResult again = run_weft(fmt::format("train {} --out {}", path("tiny.toml"), path("run")));
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.err, HasSubstr("--resume"));
}

TEST_F(RunTest, AResumedRunEqualsAnUninterruptedOne) {
  for (const char* precision : {"f32", "bf16"}) {
    const std::string whole = std::string("whole-") + precision, parts = std::string("parts-") + precision;
    const std::string common = fmt::format("--precision {} --threads 1 --set train.eval_every=0 --json", precision);
    call(fmt::format("train {} --out {} {}", path("tiny.toml"), path(whole), common));
    call(fmt::format("train {} --out {} {} --set train.steps=3", path("tiny.toml"), path(parts), common));
    call(fmt::format("train --resume {} --set train.steps=6 --json", path(parts)));
    EXPECT_EQ(read_file(folder_ / whole / "model.safetensors"), read_file(folder_ / parts / "model.safetensors"))
        << precision;
    // The shorter run logged and evaluated its own last step too.
    std::vector<Json> lines = metrics(parts);
    std::erase_if(lines, [](const Json& line) { return line.at("step") == 3; });
    EXPECT_EQ(lines, metrics(whole)) << precision;
  }
}

TEST_F(RunTest, EvaluatesGeneratesAndInspects) {
  call(fmt::format("train {} --out {} --json", path("tiny.toml"), path("run")));
  EXPECT_GT(call(fmt::format("eval {} --json", path("run"))).at("tokens"), 0);

  const std::string generate = fmt::format("generate {} --max-new-tokens 12 ", path("run"));
  const ProgramResult greedy = run_weft(generate + "--prompt ROMEO:");
  EXPECT_THAT(greedy.out, StartsWith("ROMEO:"));
  EXPECT_EQ(greedy.out.size(), std::string("ROMEO:").size() + 12 + 1);
  const std::string sample = generate + "--prompt ROMEO: --temperature 0.8 --top-k 40 --seed ";
  EXPECT_EQ(run_weft(sample + "1").out, run_weft(sample + "1").out);
  EXPECT_NE(run_weft(sample + "1").out, run_weft(sample + "2").out);
  EXPECT_EQ(run_weft(generate + "--prompt ROMEO: --temperature 0").out, greedy.out);
  const Json line = call(generate + "--json", "JULIET:\n");
  EXPECT_EQ(line.at("prompt"), "JULIET:");
  EXPECT_EQ(line.at("ids").size(), 12u);
  EXPECT_EQ(line.at("stopped_by"), "length");

  const Json inspected = call(fmt::format("inspect {} --json", path("run")));
  // Token table 65 · 16 and positions 16 · 16; attention 4 · 16² + 4 · 16; feed-forward 8 · 16² + 5 · 16; three norms
  // of 32.
  EXPECT_EQ(inspected.at("total"), 65 * 16 + 16 * 16 + 4 * 256 + 64 + 8 * 256 + 80 + 96);
  EXPECT_EQ(inspected.at("memory").at("training_bytes"), 16 * inspected.at("total").get<int64_t>());
  EXPECT_THAT(run_weft(fmt::format("inspect {}", path("run"))).out, HasSubstr("blocks.0.attention.qkv.weight"));
}

TEST_F(RunTest, SearchesWithBeams) {
  call(fmt::format("train {} --out {} --json", path("tiny.toml"), path("run")));
  const std::string generate = fmt::format("generate {} --prompt ROMEO: --max-new-tokens 12 ", path("run"));
  EXPECT_EQ(run_weft(generate + "--beam-size 1").out, run_weft(generate).out);
  const Json found = call(generate + "--beam-size 5 --n-best 3 --length-penalty 0.6 --json").at("hypotheses");
  ASSERT_EQ(found.size(), 3u);
  for (const Json& hypothesis : found) {
    EXPECT_EQ(hypothesis.at("ids").size(), hypothesis.at("log_probs").size());
    EXPECT_LE(hypothesis.at("score"), found.at(0).at("score"));
  }
  const ProgramResult lines = run_weft(generate + "--beam-size 5 --n-best 3 --length-penalty 0.6 --scores");
  std::istringstream stream(lines.out);
  double score = 0.0;
  stream >> score;
  EXPECT_NEAR(score, found.at(0).at("score"), 1e-6);  // six digits behind the point are printed
  EXPECT_THAT(lines.out, HasSubstr("\tROMEO:" + found.at(0).at("text").get<std::string>() + "\n"));
}

TEST_F(RunTest, WritesAttentionMapsOfEveryLayerAndHead) {
  call(fmt::format("train {} --out {} --json", path("tiny.toml"), path("run")));
  const std::string attention = fmt::format("attention {} --json --out ", path("run"));
  const Json summary = call(attention + path("maps.json"), "ROMEO");
  EXPECT_EQ(summary.at("tokens").at("text"), 5);
  const Json maps = parse_json(read_file(folder_ / "maps.json"), "maps.json");
  EXPECT_EQ(maps.at("sequences").at("text"), (Json{"R", "O", "M", "E", "O"}));
  ASSERT_EQ(maps.at("maps").size(), 1u);
  EXPECT_EQ(maps.at("maps").at(0).at("weights").size(), 2u);
  for (const Json& head : maps.at("maps").at(0).at("weights")) {
    ASSERT_EQ(head.size(), 5u);
    for (size_t query = 0; query < 5; ++query) {
      double total = 0.0;
      for (const Json& weight : head.at(query)) total += weight.get<double>();
      EXPECT_NEAR(total, 1.0, 1e-4);  // five weights of five digits
      for (size_t key = query + 1; key < 5; ++key) EXPECT_EQ(head.at(query).at(key), 0);
    }
  }
  call(attention + path("maps.html") + " --text ROMEO");
  EXPECT_THAT(read_file(folder_ / "maps.html"), HasSubstr("blocks.0.attention"));
  const ProgramResult result = run_weft(attention + path("maps.html") + " --text 'a text longer than the model'");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("the text has 28 tokens, the model takes 16"));
}

// Linear attention from a recipe: decoding keeps a state instead of keys and values.
TEST_F(RunTest, TrainsAndDecodesWithLinearAttention) {
  const std::string train = fmt::format("train {} --out {} ", path("tiny.toml"), path("run"));
  const ProgramResult rotary = run_weft(train + "--set model.attention_weights=linear --set model.positions=rotary");
  EXPECT_EQ(rotary.status, 1);
  EXPECT_THAT(rotary.err, HasSubstr("has no scores that positions = \"rotary\" could change"));
  const Json summary = call(train + "--set model.attention_weights=linear --set train.steps=60 --json");
  EXPECT_LT(summary.at("valid").at("loss"), 4.1);  // 65 characters: ln 65 = 4.17 at the start
  const std::string generate = fmt::format("generate {} --prompt ROMEO: --max-new-tokens 30 ", path("run"));
  const ProgramResult greedy = run_weft(generate);  // past max_length 16: the window slides, the state begins anew
  EXPECT_EQ(greedy.out.size(), std::string("ROMEO:").size() + 30 + 1);
  EXPECT_EQ(run_weft(generate + "--beam-size 1").out, greedy.out);
  EXPECT_EQ(run_weft(generate + "--precision bf16").status, 0);
  EXPECT_EQ(call(generate + "--beam-size 4 --n-best 2 --json").at("hypotheses").size(), 2u);
  call(fmt::format("attention {} --json --out {}", path("run"), path("maps.json")), "ROMEO");
  const Json maps = parse_json(read_file(folder_ / "maps.json"), "maps.json");
  for (const Json& head : maps.at("maps").at(0).at("weights")) {
    for (const Json& query : head) {
      double total = 0.0;
      for (const Json& weight : query) total += weight.get<double>();
      EXPECT_NEAR(total, 1.0, 1e-4);  // five weights of five digits
    }
  }
}

TEST_F(RunTest, UnknownCharactersInAPromptAreNamed) {
  call(fmt::format("train {} --out {} --json", path("tiny.toml"), path("run")));
  const ProgramResult result = run_weft(fmt::format("generate {} --prompt 'a€b'", path("run")));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("€"));
}

TEST_F(RunTest, BenchReportsShareOfPeak) {
  const Json result = call(
      "bench train --preset count --layers 1 --d-model 16 --heads 2 --batch 2 --context 4 --precision f32 --threads 1 "
      "--steps 2 --json");
  for (const char* key :
       {"tokens_per_second", "gflop_per_step", "gflops", "peak_gflops", "share_of_peak", "peak_memory_mib"}) {
    EXPECT_GT(result.at(key), 0.0) << key;
  }
  EXPECT_GE(result.at("ms_per_step").at("median"), result.at("ms_per_step").at("min"));
  EXPECT_EQ(result.at("system_allocations"), 0);
  // 6 · (4 · 16² + 2 · 16 · 64 + 16 · 103) · 8 tokens + 12 · 1 · 8 · 4 · 16
  EXPECT_NEAR(result.at("gflop_per_step"), (6.0 * (1024 + 2048 + 1648) * 8 + 12 * 8 * 4 * 16) * 1e-9, 1e-12);
}

TEST_F(RunTest, BenchCountsTheRowsOfPaddedAndPackedBatches) {
  const std::string bench =
      "bench train --preset rank --layers 1 --d-model 16 --heads 2 --batch 32 --context 4 --precision f32 --threads 1 "
      "--steps 1 --json --packing ";
  const Json padded = call(bench + "padded"), packed = call(bench + "packed");
  EXPECT_EQ(padded.at("tokens"), packed.at("tokens"));
  EXPECT_EQ(packed.at("rows"), packed.at("tokens"));
  EXPECT_EQ(padded.at("rows"), 32 * (3 + 4));  // sources of up to 3 numbers, targets of BOS and their ranks
  EXPECT_LT(packed.at("gflop_per_step"), padded.at("gflop_per_step"));
  const double block = 4 * 16 * 16 + 2 * 16 * 64, cross = 2 * 16 * 16, output = 16 * 6;  // 3 special ids, 3 ranks
  const double multiplied = (block + output) * 128 + block * 96 + cross * (128 + 96);
  const double pairs = 32 * (4 * 4 + 3 * 3 + 4 * 3);
  EXPECT_NEAR(padded.at("gflop_per_step"), (6 * multiplied + 12 * 16 * pairs) * 1e-9, 1e-12);

  const Json bert = call("bench train --preset bert --layers 1 --d-model 16 --heads 2 --batch 8 --steps 1 --json");
  EXPECT_GT(bert.at("gflop_per_step"), 0.0);
  EXPECT_EQ(bert.at("system_allocations"), 0);
}

}  // namespace
}  // namespace weft::testing
