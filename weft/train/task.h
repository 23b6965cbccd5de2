#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "weft/data/count_task.h"
#include "weft/data/dataset.h"
#include "weft/generate/generation_config.h"
#include "weft/models/transformer_config.h"
#include "weft/text/tokenizer.h"
#include "weft/train/recipe.h"

namespace weft::train {

// What a recipe's [task], [data] and [tokenizer] stand for.
struct Task {
  TaskKind kind = TaskKind::language_model;
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::unique_ptr<data::Dataset> training;
  std::unique_ptr<data::Dataset> validation;  // null: none
  std::optional<data::CountTask> count;       // of the task count: what its starts are asked by
  generate::GenerationConfig generation;      // how text of this task begins and ends
  models::TransformerConfig model;            // the recipe's with the vocabulary's size, resolved
};

// Reads the data, and makes the tokenizer from it unless one is given. data.file is opened as it stands: see
// find_data_file(). weft::Error and its kinds for data that cannot be used.
Task make_task(const Recipe& recipe, std::unique_ptr<text::Tokenizer> tokenizer = nullptr);

}  // namespace weft::train
