#include "tests/e2e/program.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>

#include "tests/support/temporary_folder.h"
#include "weft/base/error.h"
#include "weft/base/files.h"

namespace weft::testing {

ProgramResult run_weft(const std::string& arguments, const std::string& input) {
  const testing_support::TemporaryFolder folder;
  write_file_atomically(folder / "in", input);
  const std::string command =
      fmt::format("cd '{}' && '{}' {} < '{}' > '{}' 2> '{}'", WEFT_SOURCE_DIR, WEFT_PROGRAM, arguments,
                  (folder / "in").string(), (folder / "out").string(), (folder / "err").string());
  const int status = std::system(command.c_str());
  require(WIFEXITED(status), "run_weft: the program did not end by itself: {}", arguments);
  return {WEXITSTATUS(status), read_file(folder / "out"), read_file(folder / "err")};
}

}  // namespace weft::testing
