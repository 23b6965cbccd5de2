#include "weft/train/run.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/train/run_fixture.h"
#include "weft/base/error.h"
#include "weft/io/json.h"
#include "weft/text/tokenizer_file.h"

namespace weft::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Run : public RunFixture {
 protected:
  TrainingHooks stop_after(int64_t step) {
    TrainingHooks hooks;
    hooks.on_step = [this](const StepReport& report) { last_step_ = report.step; };
    hooks.stop_requested = [this, step] { return last_step_ == step; };
    return hooks;
  }

  int64_t last_step_ = 0;
};

TEST_F(Run, LeavesAWholeRunFolder) {
  const Summary summary = train(new_run("a"));
  EXPECT_EQ(summary.steps, 12);
  EXPECT_EQ(summary.tokens, 12 * 2 * 4 * 16);
  EXPECT_FALSE(summary.stopped);
  EXPECT_LT(summary.train_loss, 4.0);
  EXPECT_GT(summary.valid.at("loss").get<double>(), 0.0);
  EXPECT_NEAR(summary.valid.at("perplexity").get<double>(), std::exp(summary.valid.at("loss").get<double>()), 1e-3);
  for (const char* name :
       {"config.json", "model.safetensors", "tokenizer.json", "recipe.toml", "generation_config.json",
        "checkpoints/step-12/state.json", "checkpoints/step-10/optimizer.safetensors"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / "a" / name)) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a/checkpoints/step-5"));  // keep_checkpoints = 2
  EXPECT_EQ(content("a/model.safetensors"), content("a/checkpoints/step-12/model.safetensors"));
  const std::vector<std::string> lines = metrics("a");
  ASSERT_EQ(lines.size(), 8u);  // steps 2, 4 … 12, evaluations at 6 and 12
  const Json first = Json::parse(lines[0]);
  for (const char* key : {"step", "loss", "learning_rate", "grad_norm", "tokens"})
    EXPECT_TRUE(first.contains(key)) << key;
  EXPECT_EQ(Json::parse(lines[7]).at("valid"), summary.valid);
  EXPECT_EQ(evaluate_run(folder_ / "a"), summary.valid);
}

TEST_F(Run, InterruptedAndResumedIsUninterruptedBitForBit) {
  for (const std::string precision : {"f32", "bf16"}) {
    const std::string whole = "whole_" + precision, parts = "parts_" + precision;
    const Summary expected = train(new_run(whole, {"train.precision=" + precision}));
    const Summary stopped = train(new_run(parts, {"train.precision=" + precision}), stop_after(7));
    EXPECT_TRUE(stopped.stopped);
    EXPECT_EQ(stopped.steps, 7);
    EXPECT_TRUE(stopped.valid.is_null());
    const Summary resumed = resume(folder_ / parts);
    EXPECT_EQ(resumed.steps, 12);
    EXPECT_EQ(resumed.tokens, expected.tokens);
    EXPECT_EQ(resumed.train_loss, expected.train_loss);
    EXPECT_EQ(resumed.valid, expected.valid);
    EXPECT_EQ(metrics(parts), metrics(whole));
    EXPECT_EQ(content(parts + "/model.safetensors"), content(whole + "/model.safetensors"));
    EXPECT_EQ(content(parts + "/checkpoints/step-12/optimizer.safetensors"),
              content(whole + "/checkpoints/step-12/optimizer.safetensors"));
  }
  EXPECT_NE(content("whole_f32/model.safetensors"), content("whole_bf16/model.safetensors"));
}

TEST_F(Run, ALongerRunGoesOnFromAShorterOne) {
  train(new_run("whole", {"train.eval_every=4"}));
  train(new_run("parts", {"train.eval_every=4", "train.steps=4"}));
  const Summary summary = resume(folder_ / "parts", {"train.steps=12"});
  EXPECT_EQ(summary.steps, 12);
  EXPECT_EQ(metrics("parts"), metrics("whole"));
  EXPECT_EQ(content("parts/model.safetensors"), content("whole/model.safetensors"));
  EXPECT_EQ(content("parts/recipe.toml"), content("whole/recipe.toml"));
  EXPECT_EQ(resume(folder_ / "parts").valid, summary.valid);  // nothing left to do
  EXPECT_EQ(metrics("parts"), metrics("whole"));
}

TEST_F(Run, MetricsOfLaterStepsThanTheCheckpointAreWrittenAgain) {
  train(new_run("whole"));
  train(new_run("parts"), stop_after(7));
  // As if killed after step 7's checkpoint: lines up to step 9, the last one unfinished, and leftovers of a checkpoint.
  const std::string before = content("parts/metrics.jsonl");
  write_file_atomically(folder_ / "parts/metrics.jsonl", before + "{\"step\": 8, \"loss\": 9}\n{\"step\": 9, \"lo");
  make_folders(folder_ / "parts/checkpoints/.step-9.tmp");
  make_folders(folder_ / "parts/checkpoints/.step-5.old");
  write_file_atomically(folder_ / "parts/.model.safetensors.1-1.tmp", "half");
  resume(folder_ / "parts");
  EXPECT_EQ(metrics("parts"), metrics("whole"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "parts/checkpoints/.step-9.tmp"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "parts/checkpoints/.step-5.old"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "parts/.model.safetensors.1-1.tmp"));
}

TEST_F(Run, ARunWithoutACheckpointBeginsAnew) {
  train(new_run("whole"));
  train(new_run("parts"), stop_after(3));
  std::filesystem::remove_all(folder_ / "parts/checkpoints");
  resume(folder_ / "parts");
  EXPECT_EQ(metrics("parts"), metrics("whole"));
}

TEST_F(Run, GradientAccumulationIsOneLargeBatch) {
  // Sequences of uneven length: batches count differently.
  write_file_atomically(folder_ / "recipe.toml", R"([task]
name = "count"
[data]
samples = 1000
validation_samples = 0
[model]
max_length = 16
d_model = 32
layers = 2
heads = 2
[train]
steps = 12
log_every = 1
clip_norm = 0
)");
  const auto figures = [&](const std::string& name, const std::vector<std::string>& overrides) {
    train(new_run(name, overrides));
    std::vector<double> values;
    for (const std::string& line : metrics(name)) {
      const Json json = Json::parse(line);
      if (!json.contains("loss")) continue;
      values.push_back(json.at("loss"));
      values.push_back(json.at("grad_norm"));
      values.push_back(json.at("tokens"));
    }
    return values;
  };
  const std::vector<double> pieces = figures("pieces", {"train.batch_size=2", "train.gradient_accumulation=4"});
  const std::vector<double> large = figures("large", {"train.batch_size=8"});
  ASSERT_EQ(pieces.size(), 36u);
  ASSERT_EQ(large.size(), 36u);
  // Relative to each figure: the same sums in another order, which AdamW's division by √v amplifies over 12 steps.
  for (size_t i = 0; i < pieces.size(); ++i) EXPECT_NEAR(pieces[i] / large[i], 1.0, 1e-3) << "figure " << i;
}

TEST_F(Run, DropoutIsOnInTrainingAndOffInEvaluation) {
  train(new_run("with"));
  const Summary without = train(new_run("without", {"model.dropout=0", "model.attention_dropout=0"}));
  EXPECT_NE(metrics("with")[0], metrics("without")[0]);
  EXPECT_EQ(evaluate_run(folder_ / "with"), evaluate_run(folder_ / "with"));
  EXPECT_EQ(evaluate_run(folder_ / "without"), without.valid);
}

TEST_F(Run, LearnsToCount) {
  write_file_atomically(folder_ / "count.toml", R"([task]
name = "count"
[data]
numbers = 12
stop_at = 8
samples = 4000
validation_samples = 50
[model]
max_length = 6
d_model = 32
layers = 1
heads = 2
positions = "sinusoidal"
[train]
epochs = 2
batch_size = 32
log_every = 50
[optimizer]
learning_rate = 5e-3
[schedule]
name = "cosine_epochs"
)");
  const Summary summary = train({.recipe = folder_ / "count.toml", .run = folder_ / "count"});
  EXPECT_EQ(summary.epochs, 2.0);
  EXPECT_EQ(summary.steps, 250);
  EXPECT_LT(summary.train_loss, 0.05);
  EXPECT_EQ(summary.valid.at("starts"), 12);
  EXPECT_EQ(summary.valid.at("exact"), 12);
}

TEST_F(Run, BrokenNumbersStopItWithStepPlaceAndCheckpoint) {
  const std::string message = error_of([&] {
    train(new_run("a", {"optimizer.learning_rate=1e30", "schedule.warmup_steps=0", "train.clip_norm=0"}));
  });
  EXPECT_THAT(message, AllOf(HasSubstr("training: step 2: the loss is "), HasSubstr("first seen: "),
                             HasSubstr("the last good checkpoint is " + (folder_ / "a/checkpoints/step-0").string())));
}

TEST_F(Run, RefusesToOverwriteARun) {
  train(new_run("a", {"train.steps=1"}));
  const std::string before = content("a/metrics.jsonl");
  EXPECT_THAT(error_of([&] { train(new_run("a")); }), AllOf(HasSubstr("there is something in this folder already"),
                                                            HasSubstr("--resume"), HasSubstr("--force")));
  EXPECT_EQ(content("a/metrics.jsonl"), before);
  NewRun forced = new_run("a");
  forced.existing = ExistingRun::move_aside;
  train(forced);
  EXPECT_EQ(content("a.old/metrics.jsonl"), before);
  EXPECT_NE(content("a/metrics.jsonl"), before);
}

TEST_F(Run, TwoTrainingsCannotShareAFolder) {
  TrainingHooks hooks;
  std::vector<std::string> errors;
  hooks.on_start = [&](const Recipe&, const RunLength&, int64_t) {
    NewRun forced = new_run("a");
    forced.existing = ExistingRun::move_aside;
    errors.push_back(error_of([&] { train(forced); }));
    errors.push_back(error_of([&] { resume(folder_ / "a"); }));
  };
  train(new_run("a"), hooks);
  ASSERT_EQ(errors.size(), 2u);
  for (const std::string& error : errors) EXPECT_THAT(error, HasSubstr("another process is writing in this folder"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.old"));
}

TEST_F(Run, TrainsItsTokenizerOrReadsOne) {
  train(new_run("a", {"tokenizer.kind=bpe", "tokenizer.vocab_size=280"}), stop_after(1));
  EXPECT_EQ(text::load_tokenizer(folder_ / "a")->vocab_size(), 280);
  train(new_run("b", {"tokenizer.path=" + (folder_ / "a").string()}), stop_after(1));
  EXPECT_EQ(content("b/tokenizer.json"), content("a/tokenizer.json"));
  EXPECT_THAT(error_of([&] { train(new_run("c", {"tokenizer.path=none"})); }),
              HasSubstr("tokenizer.path \"none\": no such file"));
  EXPECT_NO_THROW(resume(folder_ / "b"));
}

TEST_F(Run, BadRequestsLeaveNoFolder) {
  EXPECT_THAT(error_of([&] { train(new_run("a", {"data.file=none.txt"})); }), HasSubstr("no such file"));
  EXPECT_THAT(error_of([&] { train(new_run("a", {"schedule.steps=2"})); }),
              HasSubstr("cosine over 2 steps leaves nothing after a warm-up of 3; change [schedule]"));
  EXPECT_THAT(error_of([&] { train(new_run("a", {"data.validation_share=0.999"})); }), HasSubstr("too short"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a"));
}

TEST_F(Run, ResumeSaysWhatIsWrongWithTheFolder) {
  EXPECT_THAT(error_of([&] { resume(folder_ / "none"); }), HasSubstr("this is no run folder: it has no recipe.toml"));
  train(new_run("a"), stop_after(7));
  EXPECT_THAT(error_of([&] { resume(folder_ / "a", {"model.layers=3"}); }),
              HasSubstr("[model] cannot change during a run"));
  const std::string text = content("text.txt");
  write_file_atomically(folder_ / "text.txt", text + text);
  EXPECT_THAT(error_of([&] { resume(folder_ / "a"); }), HasSubstr("the training data is not that with which"));
  write_file_atomically(folder_ / "text.txt", text);
  const auto checkpoint = folder_ / "a/checkpoints/step-7";
  const std::string weights = read_file(checkpoint / "model.safetensors");
  write_file_atomically(checkpoint / "model.safetensors", weights.substr(0, weights.size() - 4));
  EXPECT_THAT(error_of([&] { resume(folder_ / "a"); }), HasSubstr((checkpoint / "model.safetensors").string()));
  write_file_atomically(checkpoint / "model.safetensors", weights);
  write_file_atomically(checkpoint / "state.json", "{}");
  EXPECT_THAT(error_of([&] { resume(folder_ / "a"); }), HasSubstr((checkpoint / "state.json").string()));
}

}  // namespace
}  // namespace weft::train
