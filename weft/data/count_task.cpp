#include "weft/data/count_task.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/data/fingerprint.h"
#include "weft/data/number_ids.h"

namespace weft::data {

CountTask::CountTask(const CountTaskConfig& config) : config_(config), rng_(rng_of(config.sampling)) {
  require(config.max_length >= 2, "count: max_length is 2 or more, for BOS and a number; got {}", config.max_length);
  require(config.numbers >= config.max_length,
          "count: sequences of up to max_length − 1 = {} consecutive numbers need numbers ≥ {}, got {}",
          config.max_length - 1, config.max_length, config.numbers);
  require(config.stop_at >= 0 && config.stop_at < config.numbers,
          "count: stop_at is one of the numbers 0 to {}, got {}", config.numbers - 1, config.stop_at);
  check(config.sampling, "count");
}

Batch CountTask::batch(int64_t index) const {
  std::vector<int32_t> ids, targets;
  return draw_batch(config_.sampling, index, [&](uint64_t sample, BatchBuilder& builder) {
    const auto length = 1 + static_cast<int64_t>(rng_.below(static_cast<uint64_t>(config_.max_length - 1), 2 * sample));
    const auto begin =
        static_cast<int64_t>(rng_.below(static_cast<uint64_t>(config_.numbers - length + 1), 2 * sample + 1));
    ids.assign(1, bos_id);
    targets.assign(1, ignored_target);
    for (int64_t number = begin; number < begin + length; ++number) {
      ids.push_back(id_of_number(number));
      targets.push_back(number >= config_.stop_at ? eos_id : id_of_number(number + 1));
      if (number >= config_.stop_at) break;
    }
    builder.add({.ids = ids, .targets = targets});
  });
}

uint64_t CountTask::fingerprint() const {
  return fingerprint_of({}, {static_cast<uint64_t>(config_.numbers), static_cast<uint64_t>(config_.max_length),
                             static_cast<uint64_t>(config_.stop_at), static_cast<uint64_t>(config_.sampling.samples),
                             static_cast<uint64_t>(config_.sampling.split), config_.sampling.seed});
}

std::vector<int32_t> CountTask::prompt(int64_t start) { return {bos_id, id_of_number(start)}; }

std::vector<int32_t> CountTask::answer(int64_t start) const {
  std::vector<int32_t> ids;
  for (int64_t number = start + 1; number <= config_.stop_at; ++number) ids.push_back(id_of_number(number));
  ids.push_back(eos_id);
  ids.resize(std::min(ids.size(), static_cast<size_t>(config_.max_length - 1)));
  return ids;
}

}  // namespace weft::data
