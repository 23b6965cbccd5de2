#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::text {

// What one text may cost on its way through a pipeline whose description may be hostile: normalizers that multiply it,
// patterns that backtrack. Parts of the text share the budget. Ordinary tokenizers use next to nothing of it.
class TextBudget {
 public:
  explicit TextBudget(size_t bytes);
  TextBudget(size_t bytes, double seconds);  // of processor time

  // weft::Error if what became of the text, `bytes` long, is many times what it was.
  void allow_size(size_t bytes) const {
    if (bytes > most_bytes_) refuse_size(bytes);
  }
  // Uses up steps of matches that backtrack long; false if they are not left.
  bool take_steps(uint64_t steps);
  // Notes work of about `nanoseconds`, or more; false if this thread has worked on the text for very long, which it
  // looks at after each millisecond or so of what was noted.
  bool has_time(uint64_t nanoseconds) {
    noted_ += nanoseconds;
    return noted_ < nanoseconds_between_looks || look_at_clock();
  }
  // The same, with weft::Error.
  void take_time(uint64_t nanoseconds) {
    if (!has_time(nanoseconds)) refuse_time();
  }

 private:
  static constexpr uint64_t nanoseconds_between_looks = 1 << 20;

  bool look_at_clock();
  [[noreturn]] void refuse_size(size_t bytes) const;
  [[noreturn]] void refuse_time() const;

  size_t bytes_;
  size_t most_bytes_;
  uint64_t steps_;
  double seconds_;
  double begin_ = -1.0;  // processor time of the thread at the first look
  uint64_t noted_ = 0;   // nanoseconds since the last one
};

}  // namespace weft::text
