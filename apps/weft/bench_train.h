#pragma once

#include <cstdint>
#include <string>

#include "weft/autograd/context.h"
#include "weft/models/transformer_config.h"

namespace weft::app {

// A model and a batch to time whole training steps on.
struct TrainBenchmark {
  models::TransformerConfig model;
  int64_t batch = 0;    // sequences
  int64_t context = 0;  // tokens of each, none of them padding
};

// `count`, `char-gpt` or `gpt2-124m`; weft::UsageError with the known names otherwise.
TrainBenchmark benchmark_preset(const std::string& name);

struct TrainTimings {
  double min_ms = 0.0;  // per step: forward, backward, AdamW
  double median_ms = 0.0;
  double gflop_per_step = 0.0;
  double peak_gflops = 0.0;        // of the largest product measured in the same run, at the same precision and threads
  double peak_memory_mib = 0.0;    // most resident memory of the process up to the end of the steps
  int64_t parameters = 0;          // of the whole model
  int64_t system_allocations = 0;  // requests to the system for memory during the timed steps
};

// FLOPs of one step: 6 · P · tokens + 12 · layers · tokens · context · heads · head_dim. P counts the numbers of the
// matrices that take part in products (a tied embedding as the output projection; tables that are only looked up do not
// multiply), 6 is 2 for the forward and 4 for the backward product; attention is counted in full, as if it were not
// causal.
double flop_per_step(const TrainBenchmark& benchmark);

// Times `steps` training steps on fixed random tokens, dropout off, after two that warm up.
TrainTimings time_training(const TrainBenchmark& benchmark, Precision precision, int64_t steps);

// Best of five products 2048 × 2048 × 2048 with packed weights, in GFLOP/s.
double measure_peak_gflops(Precision precision);

}  // namespace weft::app
