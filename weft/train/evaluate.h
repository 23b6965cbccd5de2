#pragma once

#include "weft/base/json.h"
#include "weft/models/any_model.h"
#include "weft/train/task.h"

namespace weft::train {

struct EvaluationSettings {
  Precision precision = Precision::f32;
  int64_t batches = 0;  // of the validation data; 0: all
};

// How good the model is: `loss` (nats per counted token of the validation data; for the task bert the sum of both
// losses), `perplexity` (e^loss, language models), `tokens` counted; and
//   count  `starts`, how many numbers were given to go on from, and `exact`, how many continuations were right to the
//          end;
//   rank   `sequences`, how many sources were decoded greedily, and `exact`, how many answers were right to the end;
//   bert   `class_accuracy`, `masked_accuracy` (of masked tokens), and `masked_accuracy_beside_visible` (of those with
//          a neighbour that is not masked).
Json evaluate(const models::AnyModel& model, const Task& task, const EvaluationSettings& settings);

}  // namespace weft::train
