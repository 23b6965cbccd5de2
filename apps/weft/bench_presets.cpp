#include "apps/weft/bench_presets.h"

#include <vector>

#include "weft/base/error.h"
#include "weft/base/rng.h"
#include "weft/data/masked_task.h"
#include "weft/data/number_ids.h"
#include "weft/data/rank_task.h"

namespace weft::app {

namespace {

constexpr int64_t numbers = 100;  // that occur in the tasks of the notes
constexpr uint64_t seed = 1;

// The sizes that the three models of the notes have in common.
BenchmarkPreset model_of_the_notes(int64_t max_length) {
  BenchmarkPreset preset;
  models::TransformerConfig& model = preset.model;
  model.vocab_size = data::id_of_number(numbers);
  model.max_length = max_length;
  model.d_model = 256;
  model.d_ff = 1024;
  model.activation = kernels::Activation::relu;
  model.feed_forward_bias = false;
  model.wiring = nn::Wiring::block_input;
  model.final_norm = false;
  model.positions = nn::Positions::sinusoidal;
  model.tie_embeddings = false;
  model.output_bias = true;
  model.initialisation = nn::Initialisation::xavier_uniform;
  preset.sequences = 320;
  return preset;
}

BenchmarkPreset rank_preset() {
  BenchmarkPreset preset = model_of_the_notes(7);
  preset.data = BenchmarkData::rank;
  preset.model.architecture = models::Architecture::encoder_decoder;
  preset.model.decoder_wiring = nn::Wiring::post_norm;
  return preset;
}

BenchmarkPreset bert_preset() {
  BenchmarkPreset preset = model_of_the_notes(16);
  preset.data = BenchmarkData::bert;
  preset.model.architecture = models::Architecture::bert;
  preset.model.classes = data::MaskedTask::classes;
  return preset;
}

BenchmarkPreset char_gpt_preset() {
  BenchmarkPreset preset;
  preset.model.vocab_size = 65;
  preset.model.d_model = 384;
  preset.model.heads = 6;
  preset.model.max_length = 256;
  preset.sequences = 32;
  return preset;
}

BenchmarkPreset gpt2_preset() {
  BenchmarkPreset preset;
  preset.model.vocab_size = 50257;
  preset.model.d_model = 768;
  preset.model.layers = 12;
  preset.model.heads = 12;
  preset.model.activation = kernels::Activation::gelu_tanh;
  preset.model.max_length = 512;
  preset.sequences = 4;
  return preset;
}

std::vector<int32_t> random_ids(int64_t count, int64_t bound, const Rng& rng) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<int32_t>(rng.below(static_cast<uint64_t>(bound), static_cast<uint64_t>(i))));
  }
  return ids;
}

data::Batch random_tokens(const BenchmarkPreset& preset) {
  data::BatchBuilder builder;
  for (int64_t i = 0; i < preset.sequences; ++i) {
    const Rng rng = Rng{seed, 0}.split(static_cast<uint64_t>(i));
    const auto ids = random_ids(preset.model.max_length, preset.model.vocab_size, rng.split(0));
    const auto targets = random_ids(preset.model.max_length, preset.model.vocab_size, rng.split(1));
    builder.add({.ids = ids, .targets = targets});
  }
  return builder.finish();
}

template <typename Task, typename Config>
data::Batch first_batch(const BenchmarkPreset& preset, data::Packing packing, Config config) {
  config.numbers = numbers;
  config.max_length = preset.model.max_length;
  config.sampling = {.samples = preset.sequences, .batch_size = preset.sequences, .seed = seed, .packing = packing};
  return Task(config).batch(0);
}

}  // namespace

const char* const benchmark_presets = "count, rank, bert, char-gpt, gpt2-124m";

BenchmarkPreset benchmark_preset(const std::string& name) {
  if (name == "count") return model_of_the_notes(16);
  if (name == "rank") return rank_preset();
  if (name == "bert") return bert_preset();
  if (name == "char-gpt") return char_gpt_preset();
  if (name == "gpt2-124m") return gpt2_preset();
  fail<UsageError>("bench train: there is no preset \"{}\"; known: {}", name, benchmark_presets);
}

TrainBenchmark make_benchmark(BenchmarkPreset preset, data::Packing packing) {
  models::TransformerConfig& model = preset.model;
  if (preset.data == BenchmarkData::rank) {
    model.source_vocab_size = model.vocab_size;
    model.vocab_size = data::RankTask::target_ids(model.max_length);
  }
  model.resolve();
  switch (preset.data) {
    case BenchmarkData::random_tokens:
      return {model, random_tokens(preset)};
    case BenchmarkData::rank:
      return {model, first_batch<data::RankTask>(preset, packing, data::RankTaskConfig())};
    case BenchmarkData::bert:
      return {model, first_batch<data::MaskedTask>(preset, packing, data::MaskedTaskConfig())};
  }
  fail("bench train: kind of data {} does not exist", static_cast<int>(preset.data));
}

}  // namespace weft::app
