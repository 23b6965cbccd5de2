#include <gmock/gmock.h>

#include <cmath>

#include "tests/train/run_fixture.h"
#include "weft/train/loss.h"
#include "weft/train/scheduled_sampling.h"

namespace weft::train {
namespace {

using testing::HasSubstr;

// Small runs of the tasks whose models are not causal.
class Family : public RunFixture {
 protected:
  NewRun family_run(const std::string& name, std::vector<std::string> more = {}) const {
    std::vector<std::string> overrides = {"task.name=" + task_, "data.samples=64", "data.validation_samples=16",
                                          "model.max_length=5", "data.numbers=9"};
    overrides.insert(overrides.end(), more.begin(), more.end());
    NewRun request = new_run(name, overrides);
    request.recipe = folder_ / "family.toml";
    return request;
  }

  void use_task(const std::string& task) {
    task_ = task;
    const std::string text = recipe_text();
    write_file_atomically(folder_ / "family.toml", text.substr(text.find("[model]")));
  }

  std::string task_;
};

TEST_F(Family, InterruptedAndResumedIsUninterruptedBitForBit) {
  for (const std::string task : {"rank", "bert"}) {
    use_task(task);
    for (const std::string precision : {"f32", "bf16"}) {
      const std::string whole = task + "_whole_" + precision, parts = task + "_parts_" + precision;
      const Summary expected = train(family_run(whole, {"train.precision=" + precision}));
      train(family_run(parts, {"train.precision=" + precision, "train.steps=7"}));
      const Summary resumed = resume(folder_ / parts, {"train.steps=12"});
      EXPECT_EQ(resumed.train_loss, expected.train_loss);
      EXPECT_EQ(resumed.valid, expected.valid);
      EXPECT_EQ(content(parts + "/model.safetensors"), content(whole + "/model.safetensors"));
      EXPECT_EQ(evaluate_run(folder_ / whole, {"train.eval_batches=2"}), expected.valid);
    }
  }
}

TEST_F(Family, PaddedBatchesTrainAsPackedOnes) {
  for (const std::string task : {"rank", "bert"}) {
    use_task(task);
    // Dropout draws by row, so that it falls differently where rows are padding.
    const std::vector<std::string> still = {"model.dropout=0", "model.attention_dropout=0"};
    std::vector<std::string> padded = still;
    padded.push_back("data.packing=padded");
    const Summary one = train(family_run(task + "_packed", still)), two = train(family_run(task + "_padded", padded));
    EXPECT_EQ(one.tokens, two.tokens);
    // Relative to the loss: twelve steps that differ by the order of sums.
    EXPECT_NEAR(one.train_loss, two.train_loss, 1e-4 * one.train_loss);
    EXPECT_NEAR(one.valid.at("loss").get<double>(), two.valid.at("loss").get<double>(), 1e-3);
  }
}

TEST_F(Family, GradientAccumulationWeighsBothLossesOfBert) {
  use_task("bert");
  const std::vector<std::string> still = {"model.dropout=0",      "model.attention_dropout=0",
                                          "train.class_weight=3", "train.steps=3",
                                          "train.batch_size=8",   "train.gradient_accumulation=1"};
  std::vector<std::string> accumulated = still;
  accumulated.insert(accumulated.end(), {"train.batch_size=2", "train.gradient_accumulation=4"});
  const Summary one = train(family_run("one", still)), four = train(family_run("four", accumulated));
  EXPECT_NEAR(one.train_loss, four.train_loss, 1e-5 * one.train_loss);  // relative: the order of sums
}

TEST_F(Family, LearnsToRank) {
  use_task("rank");
  const Summary summary = train(family_run(
      "learns", {"model.max_length=3", "data.numbers=4", "train.steps=250", "train.batch_size=32", "data.samples=8000",
                 "train.gradient_accumulation=1", "schedule.steps=250", "optimizer.learning_rate=0.003",
                 "model.dropout=0", "model.attention_dropout=0", "train.checkpoint_every=0", "train.eval_every=0",
                 "train.eval_batches=0", "data.validation_samples=100"}));
  EXPECT_EQ(summary.valid.at("sequences"), 100);
  EXPECT_GE(summary.valid.at("exact").get<int64_t>(), 95);
}

TEST_F(Family, ScheduledSamplingChangesTheDecodersInputAndNothingElse) {
  use_task("rank");
  const Summary taught = train(family_run("taught", {"train.steps=4"}));
  const Summary sampled =
      train(family_run("sampled", {"train.steps=4", "train.scheduled_sampling=linear", "train.sampling_rate=1"}));
  EXPECT_NE(taught.train_loss, sampled.train_loss);
  const Summary never = train(family_run("never", {"train.steps=4", "train.scheduled_sampling=linear",
                                                   "train.sampling_rate=1", "train.sampling_floor=1"}));
  EXPECT_EQ(taught.train_loss, never.train_loss);
}

TEST_F(Family, RecipesSayWhatDoesNotFit) {
  use_task("rank");
  const auto error = [&](std::vector<std::string> overrides) {
    return error_of([&] { train(family_run("x", std::move(overrides))); });
  };
  EXPECT_THAT(error({"train.class_weight=2"}), HasSubstr("train.class_weight: there is no such key"));
  EXPECT_THAT(error({"data.stop_at=2"}), HasSubstr("data.stop_at: there is no such key"));
  EXPECT_THAT(error({"model.decoder_wiring=posst_norm"}), HasSubstr("did you mean \"post_norm\""));
  EXPECT_THAT(error({"model.architecture=bert"}), HasSubstr("the task and its tokenizer decide that"));
  EXPECT_THAT(error({"train.scheduled_sampling=exponential", "train.sampling_rate=2"}),
              HasSubstr("an exponential rate is in (0, 1], got 2"));
  EXPECT_THAT(error({"data.packing=packd"}), HasSubstr("did you mean \"packed\""));
  EXPECT_THAT(error({"tokenizer.kind=byte"}), HasSubstr("the tasks of the notes have their own"));
  EXPECT_THAT(error({"task.name=rnak"}), HasSubstr("did you mean \"rank\""));
  use_task("bert");
  EXPECT_THAT(error({"data.mask_rate=1"}), HasSubstr("data.mask_rate"));
  EXPECT_THAT(error({"model.classes=4"}), HasSubstr("the task and its tokenizer decide that"));
}

TEST(ScheduledSampling, FallsAsPublished) {
  EXPECT_EQ(teacher_probability({}, 1000), 1.0);
  const ScheduledSampling linear{SamplingSchedule::linear, 0.01, 0.25};
  EXPECT_DOUBLE_EQ(teacher_probability(linear, 10), 0.9);
  EXPECT_EQ(teacher_probability(linear, 100000), 0.25);
  EXPECT_DOUBLE_EQ(teacher_probability({SamplingSchedule::exponential, 0.5, 0.0}, 3), 0.125);
  const ScheduledSampling sigmoid{SamplingSchedule::inverse_sigmoid, 10.0, 0.0};
  EXPECT_DOUBLE_EQ(teacher_probability(sigmoid, 0), 10.0 / 11.0);
  EXPECT_DOUBLE_EQ(teacher_probability(sigmoid, 20), 10.0 / (10.0 + std::exp(2.0)));
  EXPECT_EQ(teacher_probability(sigmoid, 1000000), 0.0);
}

}  // namespace
}  // namespace weft::train
