#include "weft/generate/generate.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/generate/choose.h"

namespace weft::generate {

namespace {

// One prompt and what has been added to it.
struct Sequence {
  std::vector<int32_t> ids;  // prompt and result
  size_t window_begin = 0;   // the model sees the ids from here on
  size_t cached = 0;         // of the window, how many the cache holds
  bool done = false;
  Generated result;
};

class Generation {
 public:
  Generation(const models::CausalLM& model, std::span<const std::vector<int32_t>> prompts,
             const GenerateOptions& options)
      : model_(model), options_(options), max_length_(static_cast<size_t>(model.config().max_length)) {
    require(options.max_new_tokens >= 1, "generate: max_new_tokens is 1 or more, got {}", options.max_new_tokens);
    if (options.decoding == Decoding::sample) processors_ = make_processors(options.sampling);
    for (const std::vector<int32_t>& prompt : prompts) add(prompt);
    if (options.cache == CacheUse::cached && !sequences_.empty()) cache_.emplace(make_cache());
  }

  std::vector<Generated> run(const OnToken& on_token) {
    const auto running = [](const Sequence& sequence) { return !sequence.done; };
    while (std::ranges::any_of(sequences_, running)) {
      const Tensor logits = next_logits();
      for (size_t i = 0; i < sequences_.size(); ++i) {
        if (!sequences_[i].done) extend(i, logits, on_token);
      }
    }
    std::vector<Generated> results;
    for (Sequence& sequence : sequences_) results.push_back(std::move(sequence.result));
    return results;
  }

 private:
  void add(const std::vector<int32_t>& prompt) {
    require(!prompt.empty(), "generate: prompt {} is empty; give at least one token to go on from", sequences_.size());
    for (const int32_t id : prompt) {
      require(id >= 0 && id < model_.config().vocab_size, "generate: prompt {} has the id {}, the vocabulary has {}",
              sequences_.size(), id, model_.config().vocab_size);
    }
    sequences_.push_back({.ids = prompt, .window_begin = 0, .cached = 0, .done = false, .result = {}});
    slide(sequences_.back());
  }

  // The rule for windows that have grown too long.
  void slide(Sequence& sequence) const {
    if (sequence.ids.size() - sequence.window_begin <= max_length_) return;
    sequence.window_begin = sequence.ids.size() - std::max<size_t>(1, max_length_ / 2);
    sequence.cached = 0;
  }

  nn::KvCache make_cache() const {
    size_t longest = 0;
    for (const Sequence& sequence : sequences_)
      longest = std::max(longest, sequence.ids.size() - sequence.window_begin);
    const size_t wanted = longest + static_cast<size_t>(options_.max_new_tokens);
    return model_.make_cache(static_cast<int64_t>(sequences_.size()),
                             static_cast<int64_t>(std::min(max_length_, wanted)), options_.precision);
  }

  // (b, v): one pass over the tokens that the cache lacks, the sequences laid end to end. A sequence that is done keeps
  // its place with one token, since the cache knows sequences by their place.
  Tensor next_logits() {
    std::vector<int32_t> ids;
    std::vector<int64_t> offsets = {0};
    for (size_t i = 0; i < sequences_.size(); ++i) {
      Sequence& sequence = sequences_[i];
      if (sequence.done) sequence.cached = 0;
      if (cache_) cache_->truncate(static_cast<int64_t>(i), static_cast<int64_t>(sequence.cached));
      const auto end = sequence.done ? sequence.ids.begin() + 1 : sequence.ids.end();
      const auto begin =
          sequence.done ? sequence.ids.begin()
                        : sequence.ids.begin() + static_cast<std::ptrdiff_t>(sequence.window_begin + sequence.cached);
      ids.insert(ids.end(), begin, end);
      offsets.push_back(static_cast<int64_t>(ids.size()));
      if (cache_) sequence.cached += static_cast<size_t>(end - begin);
    }
    Context ctx{.precision = options_.precision, .rng = {}};
    const models::CausalInput input{.ids = Tensor::from<int32_t>(ids, {static_cast<int64_t>(ids.size())}),
                                    .position_ids = {},
                                    .mask = Mask::packed(offsets, true)};
    return model_.logits(ctx, input, cache_ ? &*cache_ : nullptr, true).value().to(DType::f32).contiguous();
  }

  void extend(size_t i, const Tensor& logits, const OnToken& on_token) {
    Sequence& sequence = sequences_[i];
    const auto v = static_cast<size_t>(model_.config().vocab_size);
    const std::span<const float> all = logits.span<float>();
    row_.assign(all.begin() + static_cast<std::ptrdiff_t>(i * v),
                all.begin() + static_cast<std::ptrdiff_t>((i + 1) * v));
    for (const auto& processor : processors_) processor->process(sequence.ids, row_);
    const Rng rng = Rng{options_.seed}.split(i);
    const int32_t id =
        options_.decoding == Decoding::greedy ? most_probable(row_) : draw(row_, rng, sequence.result.ids.size());
    sequence.ids.push_back(id);
    sequence.result.ids.push_back(id);
    const bool goes_on = !on_token || on_token(static_cast<int64_t>(i), id);
    const bool ends = options_.end_id == id;
    const bool is_full = static_cast<int64_t>(sequence.result.ids.size()) >= options_.max_new_tokens;
    sequence.done = ends || is_full || !goes_on;
    sequence.result.reason = ends ? StopReason::end_token : goes_on ? StopReason::length : StopReason::caller;
    slide(sequence);
  }

  const models::CausalLM& model_;
  const GenerateOptions& options_;
  size_t max_length_;
  LogitsProcessors processors_;
  std::vector<Sequence> sequences_;
  std::optional<nn::KvCache> cache_;
  std::vector<float> row_;
};

}  // namespace

std::vector<Generated> generate(const models::CausalLM& model, std::span<const std::vector<int32_t>> prompts,
                                const GenerateOptions& options, const OnToken& on_token) {
  return Generation(model, prompts, options).run(on_token);
}

Generated generate(const models::CausalLM& model, const std::vector<int32_t>& prompt, const GenerateOptions& options,
                   const OnToken& on_token) {
  return std::move(generate(model, std::span(&prompt, 1), options, on_token).front());
}

}  // namespace weft::generate
