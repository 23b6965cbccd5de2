#include "weft/data/rank_task.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/data/fingerprint.h"

namespace weft::data {

RankTask::RankTask(const RankTaskConfig& config) : config_(config), rng_(rng_of(config.sampling)) {
  require(config.max_length >= 2, "rank: max_length is 2 or more, for BOS and a rank; got {}", config.max_length);
  require(config.numbers >= config.max_length - 1, "rank: ranks of up to max_length − 2 = {} need numbers ≥ {}, got {}",
          config.max_length - 2, config.max_length - 1, config.numbers);
  check(config.sampling, "rank");
}

Batch RankTask::batch(int64_t index) const {
  std::vector<int32_t> source, ids, targets;
  return draw_batch(config_.sampling, index, [&](uint64_t number, BatchBuilder& builder) {
    const auto longest = static_cast<uint64_t>(config_.max_length - 1);
    const uint64_t first_draw = number * (longest + 1);
    const uint64_t length = 1 + rng_.below(longest, first_draw);
    source.clear();
    for (uint64_t i = 0; i < length; ++i) {
      source.push_back(
          id_of_number(static_cast<int64_t>(rng_.below(static_cast<uint64_t>(config_.numbers), first_draw + 1 + i))));
    }
    targets = answer(source);
    ids.assign(1, bos_id);
    ids.insert(ids.end(), targets.begin(), targets.end() - 1);
    builder.add({.ids = ids, .targets = targets, .source = source});
  });
}

uint64_t RankTask::fingerprint() const {
  return fingerprint_of({}, {static_cast<uint64_t>(config_.numbers), static_cast<uint64_t>(config_.max_length),
                             static_cast<uint64_t>(config_.sampling.samples),
                             static_cast<uint64_t>(config_.sampling.split), config_.sampling.seed});
}

std::vector<int32_t> RankTask::answer(std::span<const int32_t> source) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < source.size(); ++i) {
    ids.push_back(
        id_of_number(std::ranges::count_if(source.first(i), [&](int32_t earlier) { return earlier <= source[i]; })));
  }
  ids.push_back(eos_id);
  return ids;
}

}  // namespace weft::data
