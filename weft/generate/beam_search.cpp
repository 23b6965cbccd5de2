#include "weft/generate/beam_search.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "weft/base/error.h"
#include "weft/generate/log_softmax.h"

namespace weft::generate {

namespace {

// A hypothesis with one token more.
struct Continuation {
  double log_prob = 0.0;  // of the whole
  size_t beam = 0;        // which unfinished hypothesis it continues
  TokenLogProb token{};

  // The order in which continuations are taken.
  bool operator<(const Continuation& other) const {
    if (log_prob != other.log_prob) return log_prob > other.log_prob;
    if (beam != other.beam) return beam < other.beam;
    return token.id < other.token.id;
  }
};

// The search for one prompt.
class Beams {
 public:
  Beams(const BeamSearchOptions& options, int64_t max_new_tokens)
      : options_(options), max_new_tokens_(max_new_tokens), running_(1) {}

  // How many rows of the decoder are this prompt's: one per unfinished hypothesis.
  size_t rows() const { return running_.size(); }
  const std::vector<Hypothesis>& running() const { return running_; }
  // Which hypothesis of the step before each unfinished one continues.
  const std::vector<size_t>& parents() const { return parents_; }

  // Takes a step with the logits (v) of each unfinished hypothesis.
  void step(std::span<const std::span<const float>> logits) {
    std::vector<Continuation> continuations;
    for (size_t beam = 0; beam < running_.size(); ++beam) {
      // One of them may end; beam_size more are all that could go on.
      for (const TokenLogProb& token : most_probable_tokens(logits[beam], options_.beam_size + 1)) {
        continuations.push_back({running_[beam].log_prob + token.log_prob, beam, token});
      }
    }
    std::ranges::sort(continuations, std::less<>());
    take(continuations);
    if (is_decided()) running_.clear();
  }

  std::vector<Hypothesis> results() && {
    finished_.resize(std::min(finished_.size(), static_cast<size_t>(options_.n_best)));
    return std::move(finished_);
  }

 private:
  void take(const std::vector<Continuation>& continuations) {
    const auto beam_size = static_cast<size_t>(options_.beam_size);
    std::vector<Hypothesis> next;
    parents_.clear();
    for (size_t rank = 0; rank < continuations.size() && (rank < beam_size || next.size() < beam_size); ++rank) {
      const Continuation& continuation = continuations[rank];
      const bool ends = options_.end_id == continuation.token.id;
      if (ends ? rank >= beam_size : next.size() == beam_size) continue;
      Hypothesis hypothesis = running_[continuation.beam];
      hypothesis.ids.push_back(continuation.token.id);
      hypothesis.log_probs.push_back(static_cast<float>(continuation.token.log_prob));
      hypothesis.log_prob = continuation.log_prob;
      if (ends) {
        finish(std::move(hypothesis), StopReason::end_token);
      } else {
        next.push_back(std::move(hypothesis));
        parents_.push_back(continuation.beam);
      }
    }
    running_ = std::move(next);
    if (!running_.empty() && static_cast<int64_t>(running_.front().ids.size()) == max_new_tokens_) {
      for (Hypothesis& hypothesis : running_) finish(std::move(hypothesis), StopReason::length);
      running_.clear();
    }
  }

  double score(double log_prob, int64_t length) const {
    return log_prob / std::pow(static_cast<double>(length), options_.length_penalty);
  }

  void finish(Hypothesis hypothesis, StopReason reason) {
    hypothesis.reason = reason;
    hypothesis.score = score(hypothesis.log_prob, static_cast<int64_t>(hypothesis.ids.size()));
    ++ended_;
    const auto place = std::ranges::upper_bound(finished_, hypothesis.score, std::greater<>(), &Hypothesis::score);
    finished_.insert(place, std::move(hypothesis));
    if (finished_.size() > static_cast<size_t>(options_.beam_size)) finished_.pop_back();
  }

  bool is_decided() const {
    if (options_.stopping == BeamStopping::enough) return ended_ >= options_.beam_size;
    if (options_.stopping == BeamStopping::never || running_.empty()) return false;
    if (finished_.size() < static_cast<size_t>(options_.n_best)) return false;
    // The most that the best unfinished one can reach: all its further tokens are certain, and it has the best length.
    const auto length = static_cast<int64_t>(running_.front().ids.size());
    const double most = score(running_.front().log_prob, options_.length_penalty > 0.0 ? max_new_tokens_ : length + 1);
    return finished_[static_cast<size_t>(options_.n_best - 1)].score >= most;
  }

  const BeamSearchOptions& options_;
  int64_t max_new_tokens_;
  std::vector<Hypothesis> running_;  // the most probable first
  std::vector<size_t> parents_;
  std::vector<Hypothesis> finished_;  // the highest score first, at most beam_size
  int64_t ended_ = 0;
};

void check(const BeamSearchOptions& options, int64_t vocab_size) {
  require(options.beam_size >= 1 && options.beam_size <= 4096, "beam search: beam_size is 1 to 4096, got {}",
          options.beam_size);
  require(options.n_best >= 1 && options.n_best <= options.beam_size,
          "beam search: n_best is 1 to beam_size {}, got {}; a larger beam finds more", options.beam_size,
          options.n_best);
  require(options.length_penalty >= -10.0 && options.length_penalty <= 10.0,
          "beam search: length_penalty is −10 to 10, got {}", options.length_penalty);
  require(options.max_new_tokens >= 1, "beam search: max_new_tokens is 1 or more, got {}", options.max_new_tokens);
  require(!options.end_id || (*options.end_id >= 0 && *options.end_id < vocab_size),
          "beam search: end_id is an id of the vocabulary of {}, got {}", vocab_size, options.end_id.value_or(0));
}

// The decoder's rows for the next step: where each goes on from, and its new token.
struct NextRows {
  std::vector<int64_t> sources;
  std::vector<int32_t> ids;
};

// Lets every search take a step; the decoder's rows are those of the first search, then those of the second …
NextRows step_all(std::vector<Beams>& searches, const Tensor& logits) {
  NextRows next;
  const auto v = static_cast<size_t>(logits.dim(-1));
  size_t first_row = 0;
  for (Beams& beams : searches) {
    const size_t rows = beams.rows();
    std::vector<std::span<const float>> own;
    for (size_t row = 0; row < rows; ++row) own.push_back(logits.span<float>().subspan((first_row + row) * v, v));
    if (rows > 0) beams.step(own);
    for (size_t i = 0; i < beams.rows(); ++i) {
      next.sources.push_back(static_cast<int64_t>(first_row + beams.parents()[i]));
      next.ids.push_back(beams.running()[i].ids.back());
    }
    first_row += rows;
  }
  return next;
}

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(Decoder& decoder, std::span<const std::vector<int32_t>> prompts,
                                                 const BeamSearchOptions& options) {
  check(options, decoder.vocab_size());
  if (prompts.empty()) return {};
  std::vector<Beams> searches;
  for (const std::vector<int32_t>& prompt : prompts) {
    searches.emplace_back(options, new_tokens_for(decoder, prompt.size(), options.max_new_tokens));
  }
  const auto rows = static_cast<int64_t>(prompts.size()) * options.beam_size;
  Tensor logits = decoder.start(prompts, {.rows = rows, .new_tokens = options.max_new_tokens});
  for (NextRows next = step_all(searches, logits); !next.ids.empty(); next = step_all(searches, logits)) {
    decoder.select(next.sources);
    logits = decoder.next(next.ids);
  }
  std::vector<std::vector<Hypothesis>> results;
  for (Beams& beams : searches) results.push_back(std::move(beams).results());
  return results;
}

BeamStopping parse_beam_stopping(std::string_view name) {
  if (name == "enough") return BeamStopping::enough;
  if (name == "decided") return BeamStopping::decided;
  require<UsageError>(name == "never", "beam search: it stops when \"enough\", \"decided\" or \"never\", not \"{}\"",
                      name);
  return BeamStopping::never;
}

}  // namespace weft::generate
