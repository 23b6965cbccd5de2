#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "weft/base/json.h"
#include "weft/generate/beam_search.h"

namespace weft::app {

// The flags of beam search, the same in every command that decodes.
struct BeamOptions {
  std::optional<int64_t> beam_size, n_best;
  std::optional<double> length_penalty;
  std::string early_stopping;  // empty: "enough"
  bool scores = false;

  // Whether any of them was given: one is enough to ask for beam search.
  bool given() const { return beam_size || n_best || length_penalty || !early_stopping.empty(); }
};

void add_beam_flags(CLI::App& command, BeamOptions& options);

// The settings of the search; a beam size that is not given is the larger of 4 and --n-best. UsageError if --n-best is
// larger than a given --beam-size.
generate::BeamSearchOptions beam_search_options(const BeamOptions& options);

// {"text", "ids", "log_probs", "log_prob", "score", "stopped_by"}: what --json says of a hypothesis.
Json to_json(const generate::Hypothesis& hypothesis, const std::string& text);
std::string_view name_of(generate::StopReason reason);  // "end_token", "length"

}  // namespace weft::app
