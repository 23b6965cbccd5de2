#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/rng.h"
#include "weft/data/dataset.h"
#include "weft/data/sampling.h"

namespace weft::data {

struct CountTaskConfig {
  int64_t numbers = 100;    // 0 … numbers − 1 occur
  int64_t max_length = 16;  // longest input: BOS and max_length − 1 numbers
  int64_t stop_at = 42;     // a number this large is followed by EOS
  Sampling sampling{};
};

// Learning to count (F3 of the notes): BOS, then consecutive numbers; every number is followed by the next one, or by
// EOS once it is ≥ stop_at, which ends the sequence. What follows BOS cannot be known, so that position does not count.
// Number n has id n + 3 (text::number_words): PAD 0, BOS 1, EOS 2.
class CountTask final : public Dataset {
 public:
  static constexpr int32_t bos_id = 1;
  static constexpr int32_t eos_id = 2;

  // weft::Error for values that leave no sequence to draw.
  explicit CountTask(const CountTaskConfig& config);

  int64_t batches_per_epoch() const override { return data::batches_per_epoch(config_.sampling); }
  Batch batch(int64_t index) const override;
  uint64_t fingerprint() const override;
  const CountTaskConfig& config() const { return config_; }

  // What a model that has learnt to count is given for a start, [BOS, start], and what it must answer: the numbers
  // after `start` up to stop_at, then EOS; EOS at once from stop_at on; cut off after max_length − 1 tokens.
  static std::vector<int32_t> prompt(int64_t start);
  std::vector<int32_t> answer(int64_t start) const;

 private:
  CountTaskConfig config_;
  Rng rng_;
};

}  // namespace weft::data
