#pragma once

#include "weft/base/json.h"
#include "weft/models/any_model.h"
#include "weft/train/task.h"

namespace weft::train {

// A few answers of the model as it is, for people to look at: a list of {"input", "output"} and, where the task knows
// it, "expected". Language models go on from the beginnings of validation sequences, drawn with a temperature of 0.8 by
// a fixed seed; the task count goes on greedily from a few numbers, rank answers a few sources, bert fills in what is
// masked.
Json draw_samples(const models::AnyModel& model, const Task& task, Precision precision);

}  // namespace weft::train
