#include "weft/data/masked_task.h"

#include <bit>
#include <vector>

#include "weft/base/error.h"
#include "weft/data/fingerprint.h"
#include "weft/data/number_ids.h"

namespace weft::data {

namespace {

constexpr uint64_t mask_site = 0x6d61736b;  // the random stream that decides which numbers are masked

}  // namespace

MaskedTask::MaskedTask(const MaskedTaskConfig& config) : config_(config), rng_(rng_of(config.sampling)) {
  require(config.max_length >= 2, "bert: max_length is 2 or more, for CLS and a number; got {}", config.max_length);
  require(config.numbers >= config.max_length,
          "bert: runs of up to max_length − 1 = {} consecutive numbers need numbers ≥ {}, got {}",
          config.max_length - 1, config.max_length, config.numbers);
  require(config.mask_rate >= 0.0 && config.mask_rate < 1.0, "bert: mask_rate is in [0, 1), got {}", config.mask_rate);
  check(config.sampling, "bert");
}

Batch MaskedTask::batch(int64_t index) const {
  std::vector<int32_t> ids, targets;
  const Rng masks = rng_.split(mask_site);
  return draw_batch(config_.sampling, index, [&](uint64_t number, BatchBuilder& builder) {
    const auto longest = static_cast<uint64_t>(config_.max_length - 1);
    const uint64_t first_draw = 2 * number;
    const auto length = static_cast<int64_t>(1 + rng_.below(longest, first_draw));
    const auto begin =
        static_cast<int64_t>(rng_.below(static_cast<uint64_t>(config_.numbers - length + 1), first_draw + 1));
    ids.assign(1, cls_id);
    targets.assign(1, ignored_target);
    for (int64_t i = 0; i < length; ++i) {
      const int32_t id = id_of_number(begin + i);
      const bool masked = masks.bernoulli(config_.mask_rate, number * longest + static_cast<uint64_t>(i));
      ids.push_back(masked ? mask_id : id);
      targets.push_back(id);
    }
    const bool is_high = 2 * begin + length - 1 >= config_.numbers;  // twice the mean of the run
    builder.add({.ids = ids, .targets = targets, .class_id = is_high ? 1 : 0});
  });
}

uint64_t MaskedTask::fingerprint() const {
  return fingerprint_of({},
                        {static_cast<uint64_t>(config_.numbers), static_cast<uint64_t>(config_.max_length),
                         std::bit_cast<uint64_t>(config_.mask_rate), static_cast<uint64_t>(config_.sampling.samples),
                         static_cast<uint64_t>(config_.sampling.split), config_.sampling.seed});
}

}  // namespace weft::data
