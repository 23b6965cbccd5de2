#include "apps/weft/options.h"

#include "weft/base/threads.h"

namespace weft::app {

void add_json(CLI::App& command, CommonOptions& options) {
  command.add_flag("--json", options.json, "Print the result as one JSON object on standard output");
}

void add_threads(CLI::App& command, CommonOptions& options) {
  command.add_option("--threads", options.threads, "Threads to compute with; 0 for all processors")
      ->check(CLI::Range(0, 1024));
}

void add_precision(CLI::App& command, CommonOptions& options) {
  command.add_option("--precision", options.precision, "Element type of matrix products: f32 or bf16")
      ->check(CLI::IsMember({"f32", "bf16"}));
}

void apply_threads(const CommonOptions& options) {
  if (options.threads > 0) set_thread_count(options.threads);
}

Precision precision_of(const CommonOptions& options, Precision fallback) {
  return options.precision.empty() ? fallback : parse_precision(options.precision);
}

}  // namespace weft::app
