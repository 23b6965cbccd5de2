#include "apps/weft/beam_options.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft::app {

void add_beam_flags(CLI::App& command, BeamOptions& options) {
  command
      .add_option("--beam-size", options.beam_size,
                  "Beam search with so many unfinished hypotheses; 1 is greedy decoding")
      ->check(CLI::Range(int64_t{1}, int64_t{4096}));
  command.add_option("--n-best", options.n_best, "Results of beam search for each line, the best first")
      ->check(CLI::Range(int64_t{1}, int64_t{4096}));
  command
      .add_option("--length-penalty", options.length_penalty,
                  "α of a hypothesis's score, log-probability / length^α; 1 if not given, larger for longer results")
      ->check(CLI::Range(-10.0, 10.0));
  command
      .add_option(
          "--early-stopping", options.early_stopping,
          "When beam search stops: enough (as many have ended as the beam is wide), decided (the results cannot "
          "change), never (at the longest length)")
      ->check(CLI::IsMember({"enough", "decided", "never"}));
  command.add_flag("--scores", options.scores, "Print each result's score and a tab before it");
}

generate::BeamSearchOptions beam_search_options(const BeamOptions& options) {
  generate::BeamSearchOptions search;
  search.n_best = options.n_best.value_or(1);
  search.beam_size = options.beam_size.value_or(std::max(search.beam_size, search.n_best));
  require<UsageError>(search.n_best <= search.beam_size, "--n-best {} needs a --beam-size of as many, got {}",
                      search.n_best, search.beam_size);
  search.length_penalty = options.length_penalty.value_or(search.length_penalty);
  if (!options.early_stopping.empty()) search.stopping = generate::parse_beam_stopping(options.early_stopping);
  return search;
}

Json to_json(const generate::Hypothesis& hypothesis, const std::string& text) {
  Json log_probs = Json::array();
  for (const float log_prob : hypothesis.log_probs) log_probs.push_back(json_number(log_prob));
  return {{"text", text},
          {"ids", hypothesis.ids},
          {"log_probs", log_probs},
          {"log_prob", hypothesis.log_prob},
          {"score", hypothesis.score},
          {"stopped_by", name_of(hypothesis.reason)}};
}

std::string_view name_of(generate::StopReason reason) {
  return reason == generate::StopReason::end_token ? "end_token" : "length";
}

}  // namespace weft::app
