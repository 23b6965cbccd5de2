#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/threads.h"

namespace weft::app {

// The lines of standard input in batches: as much as is there, up to a few MiB, or one longer line. Whoever types waits
// for no more than the line; memory does not grow with the input. Only 0x0A ends a line; the last need not have one.
class LineBatches {
 public:
  // The next lines, without line ends, valid until the next call; false at the end. IoError.
  bool next();
  const std::vector<std::string_view>& lines() const { return lines_; }
  int64_t first_number() const { return first_number_; }  // of lines()[0], counted from 1

 private:
  bool read_more();  // false at the end of input

  std::string text_;
  size_t used_ = 0;  // bytes at the start of text_ that the last batch was made of
  std::vector<std::string_view> lines_;
  int64_t first_number_ = 1;
  bool ended_ = false;
};

// Calls answer(line, number, output) for every line of standard input, with all threads, and prints the outputs in the
// order of the lines, each batch as soon as it is done. An error says the line's number; what comes before it is
// printed.
void answer_lines(FunctionRef<void(std::string_view line, int64_t number, std::string& output)> answer);

// Writes to standard output at once; IoError.
void print_all(std::string_view text);

}  // namespace weft::app
