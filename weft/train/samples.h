#pragma once

#include "weft/base/json.h"
#include "weft/models/causal_lm.h"
#include "weft/train/task.h"

namespace weft::train {

// A few answers of the model as it is, for people to look at: a list of {"input", "output"} and, where the task knows
// it, "expected". Language models go on from the beginnings of validation sequences, drawn with a temperature of 0.8 by
// a fixed seed; the task count goes on greedily from a few numbers.
Json draw_samples(const models::CausalLM& model, const Task& task, Precision precision);

}  // namespace weft::train
