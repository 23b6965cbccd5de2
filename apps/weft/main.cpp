#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "apps/weft/commands.h"
#include "weft/base/error.h"
#include "weft/base/suggest.h"

namespace {

int report(const std::exception& error, int status) {
  fmt::print(stderr, "error: {}\n", error.what());
  return status;
}

// CLI11 would only say that a subcommand is missing.
void check_command(const CLI::App& program, std::string_view name) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands({})) names.push_back(command->get_name());
  if (name.starts_with('-') || std::ranges::find(names, name) != names.end()) return;
  const std::vector<std::string_view> known(names.begin(), names.end());
  weft::fail<weft::UsageError>("there is no command \"{}\"{}", name, weft::suggestion(name, known));
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
  weft::app::add_translate(program);
  weft::app::add_fill_mask(program);
  weft::app::add_classify(program);
  weft::app::add_attention(program);
  weft::app::add_inspect(program);
  weft::app::add_tokenizer(program);
  weft::app::add_bench(program);
  try {
    if (argc > 1) check_command(program, argv[1]);
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
