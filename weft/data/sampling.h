#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "weft/base/rng.h"
#include "weft/data/batch.h"

namespace weft::data {

enum class Split { training, validation };

// How a task that makes its samples up draws them: anew in every epoch, by seed; the validation split draws others, the
// same ones in every epoch.
struct Sampling {
  int64_t samples = 100000;  // of an epoch
  int64_t batch_size = 320;
  uint64_t seed = 0;
  Split split = Split::training;
  Packing packing = Packing::packed;
};

// weft::Error, naming the task, for sizes below 1.
void check(const Sampling& sampling, std::string_view task);
int64_t batches_per_epoch(const Sampling& sampling);
// The random stream of the split.
Rng rng_of(const Sampling& sampling);

// Adds the sample of this number, a function of the number and the stream alone.
using AddSample = std::function<void(uint64_t number, BatchBuilder& builder)>;
// Batch `index`, counted on through the epochs.
Batch draw_batch(const Sampling& sampling, int64_t index, const AddSample& add);

}  // namespace weft::data
