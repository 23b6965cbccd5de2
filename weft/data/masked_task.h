#pragma once

#include <cstdint>

#include "weft/base/rng.h"
#include "weft/data/dataset.h"
#include "weft/data/sampling.h"

namespace weft::data {

struct MaskedTaskConfig {
  int64_t numbers = 100;    // 0 … numbers − 1 occur
  int64_t max_length = 16;  // longest input: CLS and max_length − 1 numbers
  double mask_rate = 0.2;   // share of the numbers that are masked
  Sampling sampling{};
};

// Filling in masked numbers and telling high runs from low ones (F2 of the notes), for Bert: CLS, then a run of 1 to
// max_length − 1 consecutive numbers, some of them replaced by MASK. Every number is a target, seen or masked; CLS is
// none. The class is 1 if the mean of the run is at least numbers / 2, else 0. Number n has id n + 3
// (text::masked_number_words): PAD 0, MASK 1, CLS 2.
class MaskedTask final : public Dataset {
 public:
  static constexpr int32_t mask_id = 1;
  static constexpr int32_t cls_id = 2;
  static constexpr int64_t classes = 2;

  // weft::Error for values that leave no sequence to draw.
  explicit MaskedTask(const MaskedTaskConfig& config);

  int64_t batches_per_epoch() const override { return data::batches_per_epoch(config_.sampling); }
  Batch batch(int64_t index) const override;
  uint64_t fingerprint() const override;

 private:
  MaskedTaskConfig config_;
  Rng rng_;
};

}  // namespace weft::data
