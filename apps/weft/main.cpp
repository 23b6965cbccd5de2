#include <fmt/format.h>

#include <cstdio>

#include "apps/weft/commands.h"
#include "weft/base/error.h"

namespace {

int report(const std::exception& error, int status) {
  fmt::print(stderr, "error: {}\n", error.what());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program("weft builds, trains and runs Transformers natively.");
  program.name("weft");
  program.require_subcommand(1);
  program.set_version_flag("--version", "weft " WEFT_VERSION);
  weft::app::add_train(program);
  weft::app::add_eval(program);
  weft::app::add_generate(program);
  weft::app::add_inspect(program);
  weft::app::add_bench(program);
  try {
    program.parse(argc, argv);
    return 0;
  } catch (const CLI::Success& request) {  // --help, --version
    return program.exit(request);
  } catch (const CLI::ParseError& error) {
    return report(error, 2);
  } catch (const weft::UsageError& error) {
    return report(error, 2);
  } catch (const std::exception& error) {
    return report(error, 1);
  }
}
