#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/generate/decoder.h"
#include "weft/generate/generate.h"

namespace weft::generate {

// When the search for one prompt ends before max_new_tokens.
enum class BeamStopping {
  enough,   // as soon as beam_size hypotheses have ended; a beam of 1 is greedy decoding then
  decided,  // as soon as no unfinished hypothesis can still get among the n best: what they are, `never` would return
            // too
  never,    // not before every hypothesis has ended
};

struct BeamSearchOptions {
  int64_t beam_size = 4;        // unfinished hypotheses kept per prompt; 1 to 4096
  int64_t n_best = 1;           // returned per prompt; 1 to beam_size
  double length_penalty = 1.0;  // α of the score; 0: sums of log-probabilities, larger: longer results. −10 to 10
  BeamStopping stopping = BeamStopping::enough;
  int64_t max_new_tokens = 100;                  // ≥ 1
  std::optional<int32_t> end_id = std::nullopt;  // ends a hypothesis and is its last id then
};

struct Hypothesis {
  std::vector<int32_t> ids;                // what was added to the prompt
  std::vector<float> log_probs;            // natural logarithm of each id's probability, given those before it
  double log_prob = 0.0;                   // their sum
  double score = 0.0;                      // log_prob / |ids|^α
  StopReason reason = StopReason::length;  // end_token or length
};

// Beam search (as in Sutskever et al. 2014) for every prompt, all of them at once. In each step every unfinished
// hypothesis is continued by every token. Of the beam_size most probable continuations those that end are finished; of
// the others the beam_size most probable go on. Those that reach max_new_tokens, or the decoder's max_length(), end
// there and compete as well. The result has, per prompt, the n_best finished ones, the highest score first (fewer if
// there are not so many). Equal continuations: the one whose beginning was more probable first, then the smaller id;
// equal scores: the one that ended first. weft::Error for bad prompts and options, and for logits with NaN.
std::vector<std::vector<Hypothesis>> beam_search(Decoder& decoder, std::span<const std::vector<int32_t>> prompts,
                                                 const BeamSearchOptions& options);

// "enough", "decided" or "never"; weft::UsageError otherwise.
BeamStopping parse_beam_stopping(std::string_view name);

}  // namespace weft::generate
