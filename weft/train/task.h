#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "weft/autograd/context.h"
#include "weft/base/json.h"
#include "weft/data/count_task.h"
#include "weft/data/dataset.h"
#include "weft/generate/generation_config.h"
#include "weft/models/causal_lm.h"
#include "weft/text/tokenizer.h"
#include "weft/train/recipe.h"

namespace weft::train {

// What a recipe's [task], [data] and [tokenizer] stand for.
struct Task {
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

struct EvaluationSettings {
  Precision precision = Precision::f32;
  int64_t batches = 0;  // of the validation data; 0: all
};

// How good the model is: `loss` (nats per counted token of the validation data), `perplexity` (e^loss), `tokens`
// counted; and for the task count `starts`, how many numbers were given to go on from, and `exact`, how many
// continuations were right to the end.
Json evaluate(const models::CausalLM& model, const Task& task, const EvaluationSettings& settings);

}  // namespace weft::train
