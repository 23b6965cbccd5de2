#pragma once

#include <cstdint>

#include "apps/weft/bench_presets.h"
#include "weft/autograd/context.h"

namespace weft::app {

struct TrainTimings {
  double min_ms = 0.0;  // per step: forward, backward, AdamW
  double median_ms = 0.0;
  double gflop_per_step = 0.0;
  double peak_memory_mib = 0.0;    // most resident memory of the process up to the end of the steps
  int64_t parameters = 0;          // of the whole model
  int64_t system_allocations = 0;  // requests to the system for memory during the timed steps
};

// FLOPs of one step on the batch's rows, padding among them: 6 for every number of a matrix and every row that it
// multiplies (2 for the forward product, 4 for the backward ones), and 12 · heads · head_dim for every pair of a query
// and a key of the same sequence in every attention. A tied embedding counts as the output projection; tables that are
// only looked up do not multiply; attention is counted in full, as if it were not causal.
double flop_per_step(const TrainBenchmark& benchmark);

// Times `steps` training steps on the one batch, dropout off, after two that warm up.
TrainTimings time_training(const TrainBenchmark& benchmark, Precision precision, int64_t steps);

// Best of five products 2048 × 2048 × 2048 with packed weights, in GFLOP/s.
double measure_peak_gflops(Precision precision);

}  // namespace weft::app
