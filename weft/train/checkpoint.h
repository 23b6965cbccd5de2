#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weft/autograd/parameter_store.h"
#include "weft/optim/adamw.h"

namespace weft::train {

// What a run needs beside weights and optimizer to go on exactly: random numbers and batches are functions of the seed
// and of how many steps were taken.
struct TrainingState {
  int64_t step = 0;                   // optimizer steps taken
  int64_t tokens = 0;                 // trained on
  double seconds = 0.0;               // of training, without evaluations and checkpoints
  std::vector<double> recent_losses;  // of the last steps, oldest first
  std::string data_fingerprint;

  bool operator==(const TrainingState&) const = default;
};

// The checkpoints of a run, run/checkpoints/step-N: model.safetensors, optimizer.safetensors, state.json. A folder of
// this name is always whole: it is written under another name (beginning with a dot), synced, and renamed.
class Checkpoints {
 public:
  explicit Checkpoints(const std::filesystem::path& run);

  // Removes what an interrupted write or removal left behind.
  void clean() const;
  std::filesystem::path path_of(int64_t step) const;
  std::vector<int64_t> steps() const;  // there are checkpoints of, ascending

  // Writes the checkpoint of state.step, then replaces the run's own model.safetensors by its weights, then removes all
  // but the newest `keep`. Killed at any moment the run has the old or the new weights, whole.
  void save(const ParameterStore& parameters, const optim::AdamW& optimizer, const TrainingState& state,
            int64_t keep) const;

  // FormatError and IoError name the file that is damaged or missing.
  TrainingState load_state(int64_t step) const;
  void load_optimizer(int64_t step, optim::AdamW& optimizer) const;

 private:
  std::filesystem::path run_;
  std::filesystem::path folder_;
};

}  // namespace weft::train
