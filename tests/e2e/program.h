#pragma once

#include <string>

namespace weft::testing {

struct ProgramResult {
  int status = 0;  // the exit status
  std::string out;
  std::string err;
};

// Runs the program with `arguments` as a shell would split them, `input` on its standard input, from the root of the
// source tree.
ProgramResult run_weft(const std::string& arguments, const std::string& input = "");

}  // namespace weft::testing
