#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "weft/autograd/context.h"
#include "weft/data/batch.h"
#include "weft/models/transformer_config.h"
#include "weft/optim/adamw.h"
#include "weft/optim/schedule.h"
#include "weft/train/scheduled_sampling.h"

namespace weft::train {

// Everything that decides a training run, as a TOML file with the tables below gives it. A key that is not given has
// the value written here; every key of the file has the name of its member.

enum class TaskKind { language_model, count, rank, bert };
// The architecture of the models that learn a task.
models::Architecture architecture_of(TaskKind task);

struct TaskSettings {  // [task]
  TaskKind name = TaskKind::language_model;
};

// [data]: each task has its own keys.
struct DataSettings {
  // language_model
  std::string file;               // a UTF-8 text; a relative path as find_data_file() says
  double validation_share = 0.1;  // of the text, from its end; 0: no validation
  int64_t context = 0;            // tokens of a training sequence; 0: model.max_length
  // count, rank and bert
  int64_t numbers = 100;
  int64_t samples = 100000;  // of an epoch
  int64_t validation_samples = 2000;
  data::Packing packing = data::Packing::packed;
  int64_t stop_at = 42;    // count
  double mask_rate = 0.2;  // bert
};

// The last four are trained as text/training/tokenizer_trainer.h says.
enum class TokenizerKind { character, byte, word, bpe, bpe_character, unigram, wordpiece };

// [tokenizer]: a path, or what to make from the text. The tasks count, rank and bert have their own, of kind word.
struct TokenizerSettings {
  std::string path;  // a tokenizer in any form that load_tokenizer() reads; relative as find_data_file() says
  TokenizerKind kind = TokenizerKind::character;
  int64_t vocab_size = 0;  // of the kinds that are trained; 0: 8000
  int64_t words = 0;  // kind word: how many of the text's most frequent words get an id, the others being <UNK>; 0: all
};

struct TrainSettings {      // [train]
  int64_t steps = 0;        // optimizer steps; 0: as many as the epochs take
  int64_t epochs = 0;       // passes over the data; 0: as many as the steps take. With both, whichever ends first
  int64_t batch_size = 32;  // sequences computed at once
  int64_t gradient_accumulation = 1;  // batches that make one optimizer step
  int64_t seed = 0;
  Precision precision = Precision::f32;
  int64_t threads = 0;             // 0: all of the machine's
  int64_t log_every = 10;          // steps between two lines of metrics.jsonl
  int64_t eval_every = 0;          // steps between two evaluations; 0: at the end only
  int64_t eval_batches = 0;        // of the validation data in each evaluation; 0: all
  int64_t checkpoint_every = 500;  // steps between two checkpoints; 0: at the end and when stopped only
  int64_t keep_checkpoints = 2;    // the newest so many stay
  double clip_norm = 1.0;          // global gradient norm; 0: no clipping
  double label_smoothing = 0.0;
  double token_weight = 1.0;             // bert: of the masked-token loss in the sum
  double class_weight = 1.0;             // bert: of the class loss
  ScheduledSampling scheduled_sampling;  // rank: scheduled_sampling, sampling_rate, sampling_floor
};

struct OptimizerSettings {  // [optimizer], AdamW
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  optim::DecayScope decay = optim::DecayScope::matrices;
};

struct ScheduleSettings {  // [schedule], see optim/schedule.h
  optim::ScheduleKind name = optim::ScheduleKind::constant;
  double minimum = 0.0;  // learning rate
  int64_t warmup_steps = 0;
  int64_t steps = 0;   // cosine: where the minimum is reached; 0: at the end of the run
  int64_t epochs = 0;  // cosine_epochs: the same in epochs; 0: those of the run
};

struct Recipe {
  TaskSettings task;
  DataSettings data;
  TokenizerSettings tokenizer;
  models::TransformerConfig model;  // [model]; resolved, but for what the task decides: vocabularies and classes
  TrainSettings train;
  OptimizerSettings optimizer;
  ScheduleSettings schedule;
};

// Reads the recipe `text`, named `source` in messages, with overrides such as `train.steps=200` (a TOML value, or a
// word without quotes) laid over it. FormatError for anything that is not a table, key or value above, with file and
// line (or the override), the key, what was expected and what came; UsageError for an override without the form
// table.key=value.
Recipe parse_recipe(std::string_view text, std::string_view source, std::span<const std::string> overrides = {});
Recipe read_recipe(const std::filesystem::path& path, std::span<const std::string> overrides = {});

// The recipe as TOML with every key of its task. parse_recipe() gives the same recipe back.
std::string format_recipe(const Recipe& recipe);
bool operator==(const Recipe& a, const Recipe& b);

// The absolute path of a file or folder that the recipe's `key` (such as data.file) names: `file` itself if it exists
// seen from the current folder, else seen from the folder above the recipe's own (recipes/ stands beside data/).
// IoError naming both places if it is in neither.
std::filesystem::path find_data_file(const std::string& file, const std::filesystem::path& recipe_path,
                                     std::string_view key = "data.file");

// weft::Error if a run that began with `before` cannot go on with `after`: the task, the data, the tokenizer, the
// model, the seed and the batches must stay (the place of the data file may change), all other settings may not.
void require_resumable(const Recipe& before, const Recipe& after);

}  // namespace weft::train
