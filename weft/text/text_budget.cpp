#include "weft/text/text_budget.h"

#include <ctime>

#include "weft/base/error.h"

namespace weft::text {

namespace {

constexpr size_t growth = 64;  // no published normalizer comes near: NFKC makes at most 18 characters of one
constexpr size_t spare_bytes = size_t{64} << 10;
constexpr uint64_t spare_steps = 50'000'000;
constexpr uint64_t steps_per_byte = 100;
constexpr double spare_seconds = 10.0;
constexpr double seconds_per_byte = 20e-6;
constexpr uint32_t calls_between_looks = 256;

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

TextBudget::TextBudget(size_t bytes)
    : bytes_(bytes),
      most_bytes_(bytes * growth + spare_bytes),
      steps_(spare_steps + bytes * steps_per_byte),
      seconds_(spare_seconds + seconds_per_byte * static_cast<double>(bytes)) {}

void TextBudget::refuse_size(size_t bytes) const {
  fail("tokenizer: a text of {} bytes grows to {} or more; at most {} are allowed", bytes_, bytes, most_bytes_);
}

bool TextBudget::take_steps(uint64_t steps) {
  if (steps > steps_) return false;
  steps_ -= steps;
  return true;
}

bool TextBudget::has_time() {
  if (calls_++ % calls_between_looks != 0) return true;
  const double now = thread_seconds();
  if (begin_ < 0.0) begin_ = now;
  return now - begin_ <= seconds_;
}

}  // namespace weft::text
