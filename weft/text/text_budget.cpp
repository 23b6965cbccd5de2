#include "weft/text/text_budget.h"

#include <algorithm>
#include <ctime>

#include "weft/base/error.h"

namespace weft::text {

namespace {

// No published normalizer comes near: NFKC makes at most 18 characters, of 33 bytes, of one of three.
constexpr size_t growth = 64;
constexpr size_t growth_of_long_texts = 16;
constexpr size_t long_result = size_t{64} << 20;
constexpr size_t spare_bytes = size_t{64} << 10;
constexpr uint64_t spare_steps = 50'000'000;
constexpr uint64_t steps_per_byte = 100;
constexpr double spare_seconds = 10.0;
constexpr double seconds_per_byte = 20e-6;

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

TextBudget::TextBudget(size_t bytes)
    : TextBudget(bytes, spare_seconds + seconds_per_byte * static_cast<double>(bytes)) {}

TextBudget::TextBudget(size_t bytes, double seconds)
    : bytes_(bytes),
      most_bytes_(std::max(bytes * growth_of_long_texts, std::min(bytes * growth, long_result)) + spare_bytes),
      steps_(spare_steps + bytes * steps_per_byte),
      seconds_(seconds) {}

void TextBudget::refuse_size(size_t bytes) const {
  fail("tokenizer: a text of {} bytes grows to {} or more; at most {} are allowed", bytes_, bytes, most_bytes_);
}

bool TextBudget::take_steps(uint64_t steps) {
  if (steps > steps_) return false;
  steps_ -= steps;
  return true;
}

void TextBudget::refuse_time() const {
  fail("tokenizer: a text of {} bytes takes more than {:.0f} s of processor time; cut it", bytes_, seconds_);
}

bool TextBudget::look_at_clock() {
  noted_ = 0;
  const double now = thread_seconds();
  if (begin_ < 0.0) begin_ = now;
  return now - begin_ <= seconds_;
}

}  // namespace weft::text
