#include <benchmark/benchmark.h>

#include "weft/generate/beam_search.h"
#include "weft/generate/causal_decoder.h"
#include "weft/models/model_folder.h"

namespace weft::generate {
namespace {

constexpr int64_t new_tokens = 64;

// The notes' sizes with a vocabulary of words; prompts of 64 tokens.
class Setting {
 public:
  explicit Setting(int64_t sentences) : model_(initialise(1), config()) {
    for (int64_t i = 0; i < sentences; ++i) {
      std::vector<int32_t> prompt;
      for (int64_t t = 0; t < 64; ++t) prompt.push_back(static_cast<int32_t>((i * 977 + t * 131) % 8192));
      prompts_.push_back(std::move(prompt));
    }
  }

  const models::CausalLM& model() const { return model_.model; }
  const std::vector<std::vector<int32_t>>& prompts() const { return prompts_; }

 private:
  static models::TransformerConfig config() {
    models::TransformerConfig config;
    config.vocab_size = 8192;
    config.max_length = 128;
    config.initial_deviation = 0.1;
    return config;
  }

  models::WithParameters<models::CausalLM> model_;
  std::vector<std::vector<int32_t>> prompts_;
};

void report(benchmark::State& state, int64_t sentences) {
  state.counters["sentences/s"] =
      benchmark::Counter(static_cast<double>(sentences * state.iterations()), benchmark::Counter::kIsRate);
}

// Arguments: sentences at once, recompute or cached.
void greedy(benchmark::State& state) {
  const Setting setting(state.range(0));
  CausalDecoder decoder(setting.model(), {.cache = state.range(1) == 0 ? CacheUse::recompute : CacheUse::cached});
  for (auto _ : state) generate(decoder, setting.prompts(), {.max_new_tokens = new_tokens});
  report(state, state.range(0));
}
BENCHMARK(greedy)->Args({1, 0})->Args({1, 1})->Args({16, 1})->Unit(benchmark::kMillisecond)->UseRealTime();

// Arguments: sentences at once, beam size.
void beam(benchmark::State& state) {
  const Setting setting(state.range(0));
  CausalDecoder decoder(setting.model());
  for (auto _ : state) {
    beam_search(decoder, setting.prompts(), {.beam_size = state.range(1), .max_new_tokens = new_tokens});
  }
  report(state, state.range(0));
  const double hypotheses = static_cast<double>(state.range(0) * state.range(1) * new_tokens);
  state.counters["rows copied/hypothesis/step"] = static_cast<double>(decoder.cache()->rows_copied()) / hypotheses;
}
BENCHMARK(beam)->Args({1, 4})->Args({16, 4})->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace weft::generate
