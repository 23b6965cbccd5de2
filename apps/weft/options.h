#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "weft/autograd/context.h"

namespace weft::app {

// Flags that mean the same in every subcommand.
struct CommonOptions {
  bool json = false;
  int threads = 0;        // 0: all
  std::string precision;  // empty: what the run or the recipe says, else f32
};

void add_json(CLI::App& command, CommonOptions& options);
void add_threads(CLI::App& command, CommonOptions& options);
void add_precision(CLI::App& command, CommonOptions& options);

// Applies --threads to this process; call before any work.
void apply_threads(const CommonOptions& options);
// --precision if given, else `fallback`.
Precision precision_of(const CommonOptions& options, Precision fallback = Precision::f32);

}  // namespace weft::app
