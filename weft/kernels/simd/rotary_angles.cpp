#include "weft/kernels/simd/rotary_angles.h"

#include <algorithm>
#include <cmath>

namespace weft::kernels {

RotaryAngles::RotaryAngles(const Rotary& rotary)
    : rotary_(rotary),
      row_size_(rotary.layout == RotaryLayout::interleaved ? 2 * rotary.rotary_dim : rotary.rotary_dim) {
  for (int64_t i = 0; i < rotary.rotary_dim / 2; ++i) {
    frequencies_.push_back(
        std::pow(rotary.base, -2.0 * static_cast<double>(i) / static_cast<double>(rotary.rotary_dim)));
  }
}

bool RotaryAngles::serves(const Rotary& rotary) const {
  return rotary.layout == rotary_.layout && rotary.rotary_dim == rotary_.rotary_dim && rotary.base == rotary_.base;
}

void RotaryAngles::compute_row(int64_t position, float* row) const {
  const size_t pairs = frequencies_.size();
  for (size_t i = 0; i < pairs; ++i) {
    const double angle = static_cast<double>(position) * frequencies_[i];
    const float cosine = static_cast<float>(std::cos(angle)), sine = static_cast<float>(std::sin(angle));
    if (rotary_.layout == RotaryLayout::half_split) {
      row[i] = cosine;
      row[pairs + i] = sine;
    } else {
      row[2 * i] = row[2 * i + 1] = cosine;
      row[2 * pairs + 2 * i] = -sine;
      row[2 * pairs + 2 * i + 1] = sine;
    }
  }
}

std::vector<float> RotaryAngles::compute_block(int64_t first_position) const {
  std::vector<float> rows(static_cast<size_t>(block * row_size_));
  for (int64_t i = 0; i < block; ++i) compute_row(first_position + i, rows.data() + i * row_size_);
  return rows;
}

void RotaryAngles::find(const int32_t* position_ids, int64_t tokens, std::vector<const float*>& rows) {
  const std::lock_guard lock(mutex_);
  const float* found = nullptr;
  int64_t found_index = -1;
  for (int64_t t = 0; t < tokens; ++t) {
    const int64_t index = position_ids[t] / block;
    if (index != found_index) {
      std::vector<float>& kept = blocks_[index];
      if (kept.empty()) kept = compute_block(index * block);
      found = kept.data();
      found_index = index;
    }
    rows.push_back(found + (position_ids[t] - index * block) * row_size_);
  }
}

int64_t RotaryAngles::bytes() {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(blocks_.size() * sizeof(float)) * block * row_size_;
}

std::shared_ptr<RotaryAngles> rotary_angles(const Rotary& rotary) {
  constexpr int64_t max_bytes = int64_t{1} << 26;  // of one table, checked between calls
  constexpr size_t max_tables = 4;
  static std::mutex mutex;
  static std::vector<std::shared_ptr<RotaryAngles>> tables;  // the latest last

  const std::lock_guard lock(mutex);
  const auto kept =
      std::find_if(tables.begin(), tables.end(), [&](const auto& table) { return table->serves(rotary); });
  std::shared_ptr<RotaryAngles> table;
  if (kept != tables.end()) {
    if ((*kept)->bytes() <= max_bytes) table = *kept;
    tables.erase(kept);
  }
  if (!table) table = std::make_shared<RotaryAngles>(rotary);
  if (tables.size() == max_tables) tables.erase(tables.begin());
  tables.push_back(table);
  return table;
}

}  // namespace weft::kernels
