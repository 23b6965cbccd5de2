// Feeds the tokenizers with made-up files and texts: weft_fuzz TARGET [--seed N] [--runs N | --seconds N].
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <map>

#include "tests/fuzz/fuzzer.h"
#include "weft/base/error.h"

// The bounds on memory, of one allocation and of all; and a failed assertion of the standard library is a finding too.
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=1024:hard_rss_limit_mb=6144:quarantine_size_mb=64:detect_leaks=1:handle_abort=1";
}

namespace {

int run(int count, char** arguments) {
  using Maker = std::function<std::unique_ptr<weft::fuzz::Target>()>;
  const std::map<std::string, Maker> targets = {{"tokenizer-json", weft::fuzz::tokenizer_json_target},
                                                {"model", weft::fuzz::model_target},
                                                {"text", weft::fuzz::text_target}};
  CLI::App program("Feeds the tokenizers with made-up input until something breaks", "weft_fuzz");
  std::string name;
  std::string again;
  weft::fuzz::FuzzOptions options;
  std::vector<std::string> names;
  for (const auto& [target, maker] : targets) names.push_back(target);
  program.add_option("target", name, "What is fed")->required()->check(CLI::IsMember(names));
  program.add_option("--seed", options.seed, "Another seed makes other inputs");
  program.add_option("--runs", options.runs, "Inputs to try");
  program.add_option("--seconds", options.seconds, "Time to go on for");
  program.add_option("--findings", options.findings, "Folder that inputs with a finding are written to");
  program.add_option("--again", again, "Try only this file, such as one that was written for a finding");
  CLI11_PARSE(program, count, arguments);
  const auto target = targets.at(name)();
  if (!again.empty()) return run_once(*target, again);
  if (!options.runs && !options.seconds) options.runs = 1000;
  return run_fuzzer(*target, name, options);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
