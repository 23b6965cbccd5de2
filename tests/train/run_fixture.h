#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/base/json.h"
#include "weft/train/run.h"

namespace weft::train {

// A recipe small enough for a step to take milliseconds, with everything random switched on, in a folder of the test's
// own.
class RunFixture : public testing::Test {
 protected:
  RunFixture() {
    std::string text;
    for (int i = 0; i < 120; ++i)
      text += "the cat " + std::to_string(i * i % 37) + " sat on mat " + std::to_string(i % 7) + ".\n";
    write_file_atomically(folder_ / "text.txt", text);
    write_file_atomically(folder_ / "recipe.toml", recipe_text());
  }

  std::string recipe_text() const {
    return "[data]\nfile = \"" + (folder_ / "text.txt").string() + R"("
[model]
max_length = 16
d_model = 32
layers = 2
heads = 2
dropout = 0.1
attention_dropout = 0.1
[train]
steps = 12
batch_size = 4
gradient_accumulation = 2
log_every = 2
eval_every = 6
eval_batches = 2
checkpoint_every = 5
threads = 2
[schedule]
name = "cosine"
warmup_steps = 3
steps = 12
)";
  }

  NewRun new_run(const std::string& name, std::vector<std::string> overrides = {}) const {
    return {.recipe = folder_ / "recipe.toml", .run = folder_ / name, .overrides = std::move(overrides)};
  }

  std::string content(const std::filesystem::path& relative) const { return read_file(folder_ / relative); }

  // metrics.jsonl but for the times.
  std::vector<std::string> metrics(const std::string& run) const {
    std::vector<std::string> lines;
    const std::string text = content(run + "/metrics.jsonl");
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
      Json line = parse_json(text.substr(begin, text.find('\n', begin) - begin), run);
      line.erase("seconds");
      lines.push_back(line.dump());
    }
    return lines;
  }

  std::string error_of(const std::function<void()>& action) const {
    try {
      action();
      return "no error";
    } catch (const Error& error) {
      return error.what();
    }
  }

  const testing_support::TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
};

}  // namespace weft::train
