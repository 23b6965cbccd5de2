#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/threads.h"

namespace weft::app {

// Calls answer(line, number, output) for every line of standard input, with all threads, and prints the outputs in the
// order of the lines. Only 0x0A ends a line; the last need not have one. Each thread takes some lines, answers them and
// prints them when those before are printed, so reading, answering and printing overlap. Whoever types waits for no
// more than the line; memory does not grow with the input. An error says the line's number; what comes before it is
// printed.
void answer_lines(FunctionRef<void(std::string_view line, int64_t number, std::string& output)> answer);

// Writes to standard output at once; IoError.
void print_all(std::string_view text);

}  // namespace weft::app
