#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "tests/fuzz/target.h"

namespace weft::fuzz {

struct FuzzOptions {
  uint64_t seed = 1;
  std::optional<uint64_t> runs;     // stop after so many inputs
  std::optional<uint64_t> seconds;  // stop after so much time
  std::filesystem::path findings = ".";
};

// Runs a target on its seeds, then on what mutation makes of inputs that reached something new. A finding (a property
// that does not hold, an exception other than weft::Error, a crash, a sanitizer's report, 60 s of processor time for
// one input) is written to a file in `findings`; returns the exit status, 1 if there was one. With `runs`, the same
// inputs for the same seed.
int run_fuzzer(const Target& target, const std::string& name, const FuzzOptions& options);

// Runs the target once, on an input that was written before.
int run_once(const Target& target, const std::filesystem::path& file);

}  // namespace weft::fuzz
