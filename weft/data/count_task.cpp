#include "weft/data/count_task.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/data/fingerprint.h"

namespace weft::data {

namespace {

constexpr int32_t first_number_id = 3;

int32_t id_of(int64_t number) { return static_cast<int32_t>(number) + first_number_id; }

}  // namespace

CountTask::CountTask(const CountTaskConfig& config, CountSplit split)
    : config_(config), split_(split), rng_(Rng{config.seed}.split(split == CountSplit::training ? 1 : 2)) {
  require(config.max_length >= 2, "count: max_length is 2 or more, for BOS and a number; got {}", config.max_length);
  require(config.numbers >= config.max_length,
          "count: sequences of up to max_length − 1 = {} consecutive numbers need numbers ≥ {}, got {}",
          config.max_length - 1, config.max_length, config.numbers);
  require(config.stop_at >= 0 && config.stop_at < config.numbers,
          "count: stop_at is one of the numbers 0 to {}, got {}", config.numbers - 1, config.stop_at);
  require(config.samples >= 1, "count: samples is 1 or more, got {}", config.samples);
  require(config.batch_size >= 1, "count: batch_size is 1 or more, got {}", config.batch_size);
}

int64_t CountTask::batches_per_epoch() const { return (config_.samples + config_.batch_size - 1) / config_.batch_size; }

PackedBatch CountTask::batch(int64_t index) const {
  const int64_t epoch = split_ == CountSplit::training ? index / batches_per_epoch() : 0;
  const int64_t first = index % batches_per_epoch() * config_.batch_size;
  BatchPacker packer;
  std::vector<int32_t> ids, targets;
  for (int64_t i = first; i < std::min(first + config_.batch_size, config_.samples); ++i) {
    const auto sample = static_cast<uint64_t>(epoch * config_.samples + i);
    const auto length = 1 + static_cast<int64_t>(rng_.below(static_cast<uint64_t>(config_.max_length - 1), 2 * sample));
    const auto begin =
        static_cast<int64_t>(rng_.below(static_cast<uint64_t>(config_.numbers - length + 1), 2 * sample + 1));
    ids.assign(1, bos_id);
    targets.assign(1, ignored_target);
    for (int64_t number = begin; number < begin + length; ++number) {
      ids.push_back(id_of(number));
      targets.push_back(number >= config_.stop_at ? eos_id : id_of(number + 1));
      if (number >= config_.stop_at) break;
    }
    packer.add(ids, targets);
  }
  return packer.finish();
}

uint64_t CountTask::fingerprint() const {
  return fingerprint_of({}, {static_cast<uint64_t>(config_.numbers), static_cast<uint64_t>(config_.max_length),
                             static_cast<uint64_t>(config_.stop_at), static_cast<uint64_t>(config_.samples),
                             static_cast<uint64_t>(split_), config_.seed});
}

std::vector<int32_t> CountTask::prompt(int64_t start) { return {bos_id, id_of(start)}; }

std::vector<int32_t> CountTask::answer(int64_t start) const {
  std::vector<int32_t> ids;
  for (int64_t number = start + 1; number <= config_.stop_at; ++number) ids.push_back(id_of(number));
  ids.push_back(eos_id);
  ids.resize(std::min(ids.size(), static_cast<size_t>(config_.max_length - 1)));
  return ids;
}

}  // namespace weft::data
