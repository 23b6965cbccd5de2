#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/base/rng.h"
#include "weft/data/dataset.h"
#include "weft/data/number_ids.h"
#include "weft/data/sampling.h"

namespace weft::data {

struct RankTaskConfig {
  int64_t numbers = 100;   // 0 … numbers − 1 occur
  int64_t max_length = 7;  // longest decoder input: BOS and max_length − 1 ranks
  Sampling sampling{};
};

// Learning to rank (F1 of the notes), for an encoder–decoder model: the source is a sequence of 1 to max_length − 1
// numbers, drawn independently; the target says of each how many numbers before it are not greater, then EOS. Number n
// has id n + 3 on both sides (text::number_words): PAD 0, BOS 1, EOS 2.
class RankTask final : public Dataset {
 public:
  static constexpr int32_t bos_id = 1;
  static constexpr int32_t eos_id = 2;

  // weft::Error for values that leave no sequence to draw.
  explicit RankTask(const RankTaskConfig& config);

  int64_t batches_per_epoch() const override { return data::batches_per_epoch(config_.sampling); }
  Batch batch(int64_t index) const override;
  uint64_t fingerprint() const override;
  const RankTaskConfig& config() const { return config_; }

  // How many of the first ids occur in targets with this max_length.
  static int64_t target_ids(int64_t max_length) { return id_of_number(max_length - 1); }
  // The ids that a model must answer a source with: the ranks, then EOS.
  static std::vector<int32_t> answer(std::span<const int32_t> source);

 private:
  RankTaskConfig config_;
  Rng rng_;
};

}  // namespace weft::data
