#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/train/run_fixture.h"
#include "weft/base/error.h"
#include "weft/base/rng.h"
#include "weft/models/model_folder.h"
#include "weft/text/tokenizer_file.h"

namespace weft::train {
namespace {

constexpr const char* run_variable = "WEFT_TEST_RUN";
constexpr const char* recipe_variable = "WEFT_TEST_RECIPE";
constexpr const char* precision_variable = "WEFT_TEST_PRECISION";

// Not a test by itself: what the process that is going to be killed does. It starts the run or goes on with it.
TEST(KilledProcess, DISABLED_Trains) {
  const char* run = std::getenv(run_variable);
  ASSERT_NE(run, nullptr);
  if (std::filesystem::exists(std::filesystem::path(run) / "recipe.toml")) {
    resume(run);
  } else {
    train({.recipe = std::getenv(recipe_variable),
           .run = run,
           .overrides = {std::string("train.precision=") + std::getenv(precision_variable)}});
  }
}

class Kill : public RunFixture {
 protected:
  // Runs the process above for `delay`, then kills it. True if it had finished before. A process of its own, not a fork
  // alone: threads do not survive a fork.
  bool train_and_kill(const std::filesystem::path& run, const char* precision, std::chrono::microseconds delay) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv(run_variable, run.c_str(), 1);
      ::setenv(recipe_variable, (folder_ / "recipe.toml").c_str(), 1);
      ::setenv(precision_variable, precision, 1);
      ::execl("/proc/self/exe", "train_tests", "--gtest_also_run_disabled_tests",
              "--gtest_filter=KilledProcess.DISABLED_Trains", "--gtest_brief=1", nullptr);
      ::_exit(127);
    }
    std::this_thread::sleep_for(delay);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "the training process failed by itself";
    return WIFEXITED(status);
  }

  // What a killed run holds must load: nothing yet, or a whole model.
  void expect_loadable(const std::filesystem::path& run) {
    if (!std::filesystem::exists(run / "model.safetensors")) return;
    EXPECT_NO_THROW(models::load_causal_lm(run));
    EXPECT_NO_THROW(text::load_tokenizer(run));
  }
};

TEST_F(Kill, AtAnyMomentLeavesARunThatLoadsAndGoesOnExactly) {
  for (const char* precision : {"f32", "bf16"}) {
    const std::string whole = std::string("whole_") + precision, killed = std::string("killed_") + precision;
    const auto begin = std::chrono::steady_clock::now();
    train(new_run(whole, {std::string("train.precision=") + precision}));
    auto full = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
    const Rng rng{1, 2};
    int kills = 0;
    for (uint64_t attempt = 0; attempt < 12; ++attempt) {
      const auto share = static_cast<double>(rng.uniform(attempt));
      const std::chrono::microseconds delay(static_cast<int64_t>(share * static_cast<double>(full.count()) * 0.7));
      const bool finished = train_and_kill(folder_ / killed, precision, delay);
      expect_loadable(folder_ / killed);
      if (finished && kills > 0) break;
      if (finished) {
        // The measured run was slow, or this one fast: nothing was killed yet. Once more, sooner.
        std::filesystem::remove_all(folder_ / killed);
        full /= 2;
      } else {
        ++kills;
      }
    }
    EXPECT_GT(kills, 0);
    if (std::filesystem::exists(folder_ / killed / "recipe.toml")) {
      resume(folder_ / killed);
    } else {
      train(new_run(killed, {std::string("train.precision=") + precision}));
    }
    EXPECT_EQ(metrics(killed), metrics(whole));
    EXPECT_EQ(content(killed + "/model.safetensors"), content(whole + "/model.safetensors"));
  }
}

}  // namespace
}  // namespace weft::train
