#include "weft/generate/generate.h"

#include "weft/base/error.h"
#include "weft/generate/choose.h"

namespace weft::generate {

namespace {

// One prompt and what has been added to it.
struct Sequence {
  std::vector<int32_t> ids;  // prompt and result
  int64_t max_new_tokens = 0;
  Generated result;
};

class Generation {
 public:
  Generation(Decoder& decoder, std::span<const std::vector<int32_t>> prompts, const GenerateOptions& options,
             const OnToken& on_token)
      : decoder_(decoder), options_(options), on_token_(on_token) {
    require(options.max_new_tokens >= 1, "generate: max_new_tokens is 1 or more, got {}", options.max_new_tokens);
    if (options.decoding == Decoding::sample) processors_ = make_processors(options.sampling);
    for (const std::vector<int32_t>& prompt : prompts) {
      const int64_t most = new_tokens_for(decoder, prompt.size(), options.max_new_tokens);
      sequences_.push_back({.ids = prompt, .max_new_tokens = most, .result = {}});
    }
  }

  std::vector<Generated> run(std::span<const std::vector<int32_t>> prompts) {
    Tensor logits =
        decoder_.start(prompts, {.rows = static_cast<int64_t>(prompts.size()), .new_tokens = options_.max_new_tokens});
    std::vector<size_t> running(prompts.size());  // which sequence each row of the decoder is
    for (size_t i = 0; i < running.size(); ++i) running[i] = i;
    while (true) {
      const size_t before = running.size();
      std::vector<int64_t> rows;
      std::vector<int32_t> ids;
      std::vector<size_t> still_running;
      for (size_t row = 0; row < before; ++row) {
        if (!extend(running[row], row_of(logits, row))) continue;
        rows.push_back(static_cast<int64_t>(row));
        ids.push_back(sequences_[running[row]].ids.back());
        still_running.push_back(running[row]);
      }
      running = std::move(still_running);
      if (running.empty()) break;
      if (running.size() < before) decoder_.select(rows);
      logits = decoder_.next(ids);
    }
    std::vector<Generated> results;
    for (Sequence& sequence : sequences_) results.push_back(std::move(sequence.result));
    return results;
  }

 private:
  static std::span<float> row_of(Tensor& logits, size_t row) {
    const auto v = static_cast<size_t>(logits.dim(-1));
    return logits.span<float>().subspan(row * v, v);
  }

  // Chooses the next token of a sequence; whether it goes on.
  bool extend(size_t i, std::span<float> logits) {
    Sequence& sequence = sequences_[i];
    for (const auto& processor : processors_) processor->process(sequence.ids, logits);
    const Rng rng = Rng{options_.seed}.split(i);
    const int32_t id =
        options_.decoding == Decoding::greedy ? most_probable(logits) : draw(logits, rng, sequence.result.ids.size());
    sequence.ids.push_back(id);
    sequence.result.ids.push_back(id);
    const bool goes_on = !on_token_ || on_token_(static_cast<int64_t>(i), id);
    const bool ends = options_.end_id == id;
    const bool is_full = static_cast<int64_t>(sequence.result.ids.size()) >= sequence.max_new_tokens;
    sequence.result.reason = ends ? StopReason::end_token : goes_on ? StopReason::length : StopReason::caller;
    return goes_on && !ends && !is_full;
  }

  Decoder& decoder_;
  const GenerateOptions& options_;
  const OnToken& on_token_;
  LogitsProcessors processors_;
  std::vector<Sequence> sequences_;
};

}  // namespace

std::vector<Generated> generate(Decoder& decoder, std::span<const std::vector<int32_t>> prompts,
                                const GenerateOptions& options, const OnToken& on_token) {
  Generation generation(decoder, prompts, options, on_token);
  return prompts.empty() ? std::vector<Generated>{} : generation.run(prompts);
}

Generated generate(Decoder& decoder, const std::vector<int32_t>& prompt, const GenerateOptions& options,
                   const OnToken& on_token) {
  return std::move(generate(decoder, std::span(&prompt, 1), options, on_token).front());
}

}  // namespace weft::generate
