#include "weft/train/checkpoint.h"

#include <algorithm>
#include <charconv>

#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/io/json.h"
#include "weft/io/safetensors.h"
#include "weft/models/model_folder.h"

namespace weft::train {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "step-";

std::optional<int64_t> step_of(const std::string& name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, step);
  return error == std::errc() && rest == end && step >= 0 ? std::optional(step) : std::nullopt;
}

void save_optimizer(const fs::path& file, const optim::AdamW& optimizer) {
  std::vector<NamedTensor> tensors;
  for (const optim::StateTensor& part : optimizer.state()) tensors.push_back({part.name, part.tensor});
  write_safetensors(file, tensors, {{"format", "pt"}, {"steps", std::to_string(optimizer.steps())}});
}

void save_state(const fs::path& file, const TrainingState& state) {
  write_json(file, {{"step", state.step},
                    {"tokens", state.tokens},
                    {"seconds", state.seconds},
                    {"recent_losses", state.recent_losses},
                    {"data_fingerprint", state.data_fingerprint}});
}

// Takes a checkpoint's name away before its content: what is left of an interrupted removal has no name that counts.
void remove_checkpoint(const fs::path& path) {
  const fs::path doomed = path.parent_path() / fmt::format(".{}.old", path.filename().string());
  std::error_code ignored;
  fs::remove_all(doomed, ignored);
  rename_durably(path, doomed);
  fs::remove_all(doomed, ignored);
}

}  // namespace

Checkpoints::Checkpoints(const fs::path& run) : run_(run), folder_(run / "checkpoints") {}

void Checkpoints::clean() const {
  std::error_code ignored;
  for (const fs::path& folder : {run_, folder_}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename().string();
      const bool is_leftover = name.starts_with('.') && (name.ends_with(".tmp") || name.ends_with(".old"));
      if (is_leftover) fs::remove_all(entry.path(), ignored);
    }
  }
}

fs::path Checkpoints::path_of(int64_t step) const { return folder_ / fmt::format("{}{}", prefix, step); }

std::vector<int64_t> Checkpoints::steps() const {
  std::vector<int64_t> steps;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
    if (const std::optional<int64_t> step = step_of(entry.path().filename().string())) steps.push_back(*step);
  }
  std::ranges::sort(steps);
  return steps;
}

void Checkpoints::save(const ParameterStore& parameters, const optim::AdamW& optimizer, const TrainingState& state,
                       int64_t keep) const {
  const fs::path final_path = path_of(state.step);
  const fs::path written = folder_ / fmt::format(".{}{}.tmp", prefix, state.step);
  std::error_code ignored;
  fs::remove_all(written, ignored);
  make_folders(written);
  models::save_parameters(written / "model.safetensors", parameters);
  save_optimizer(written / "optimizer.safetensors", optimizer);
  save_state(written / "state.json", state);
  sync_folder(written);
  if (fs::exists(final_path)) remove_checkpoint(final_path);
  rename_durably(written, final_path);
  copy_file_atomically(final_path / "model.safetensors", run_ / "model.safetensors");

  std::vector<int64_t> existing = steps();
  for (size_t i = 0; i + static_cast<size_t>(keep) < existing.size(); ++i) remove_checkpoint(path_of(existing[i]));
}

TrainingState Checkpoints::load_state(int64_t step) const {
  const fs::path file = path_of(step) / "state.json";
  const Json document = read_json(file);
  const JsonView json(document, file.string());
  json.allow_only({"step", "tokens", "seconds", "recent_losses", "data_fingerprint"});
  TrainingState state{.step = json.get<int64_t>("step"),
                      .tokens = json.get<int64_t>("tokens"),
                      .seconds = json.get<double>("seconds"),
                      .recent_losses = json.get<std::vector<double>>("recent_losses"),
                      .data_fingerprint = json.get<std::string>("data_fingerprint")};
  require<FormatError>(state.step == step && state.tokens >= 0,
                       "{}: expected the state of step {}, got that of step {}", file.string(), step, state.step);
  return state;
}

void Checkpoints::load_optimizer(int64_t step, optim::AdamW& optimizer) const {
  const fs::path file = path_of(step) / "optimizer.safetensors";
  const SafetensorsFile tensors(file);
  std::vector<optim::StateTensor> state;
  for (const std::string& name : tensors.names()) state.push_back({name, tensors.tensor(name)});
  try {
    optimizer.restore(state, step);
  } catch (const Error& error) {
    fail<FormatError>("{}: {}", file.string(), error.what());
  }
}

}  // namespace weft::train
