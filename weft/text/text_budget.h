#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::text {

// What one text may cost on its way through a pipeline whose description may be hostile: normalizers that multiply it,
// patterns that backtrack. Parts of the text share the budget. Ordinary tokenizers use next to nothing of it.
class TextBudget {
 public:
  explicit TextBudget(size_t bytes);

  // weft::Error if what became of the text, `bytes` long, is many times what it was.
  void allow_size(size_t bytes) const {
    if (bytes > most_bytes_) refuse_size(bytes);
  }
  // Uses up steps of matches that backtrack long; false if they are not left.
  bool take_steps(uint64_t steps);
  // False if this thread has worked on the text for very long. Asks the clock at every 256th call or so.
  bool has_time();

 private:
  [[noreturn]] void refuse_size(size_t bytes) const;

  size_t bytes_;
  size_t most_bytes_;
  uint64_t steps_;
  double seconds_;
  double begin_ = -1.0;  // processor time of the thread at the first call of has_time()
  uint32_t calls_ = 0;
};

}  // namespace weft::text
