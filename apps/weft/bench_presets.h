#pragma once

#include <cstdint>
#include <string>

#include "weft/data/batch.h"
#include "weft/models/transformer_config.h"

namespace weft::app {

// What a preset's model learns from: a language model random tokens without padding, the models of the notes the
// samples of their tasks, whose lengths differ.
enum class BenchmarkData { random_tokens, rank, bert };

struct BenchmarkPreset {
  models::TransformerConfig model;  // max_length: the tokens of the longest sequence
  BenchmarkData data = BenchmarkData::random_tokens;
  int64_t sequences = 0;  // in a batch
};

// A model and the batch to time whole training steps on.
struct TrainBenchmark {
  models::TransformerConfig model;
  data::Batch batch;
};

// One of benchmark_presets; weft::UsageError with the known names otherwise.
BenchmarkPreset benchmark_preset(const std::string& name);
// The names, as a sentence lists them.
extern const char* const benchmark_presets;

// Settles the model's sizes and draws the batch, always the same one. `packing` says how sequences of different lengths
// lie in it. weft::Error for sizes that do not go together.
TrainBenchmark make_benchmark(BenchmarkPreset preset, data::Packing packing);

}  // namespace weft::app
