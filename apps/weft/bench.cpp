#include <fmt/format.h>

#include <memory>

#include "apps/weft/bench_train.h"
#include "apps/weft/commands.h"
#include "apps/weft/options.h"
#include "weft/base/error.h"
#include "weft/base/json.h"
#include "weft/base/threads.h"

namespace weft::app {

namespace {

struct BenchOptions {
  CommonOptions common;
  std::string preset = "char-gpt";
  int64_t steps = 10;
  std::string packing{};  // empty: packed
  int64_t batch = 0, context = 0, layers = 0, heads = 0, kv_heads = 0, d_model = 0, d_ff = 0, vocab_size = 0;
};

TrainBenchmark configured(const BenchOptions& options) {
  BenchmarkPreset preset = benchmark_preset(options.preset);
  const auto override_with = [](int64_t flag, int64_t& value) {
    if (flag > 0) value = flag;
  };
  const bool random_tokens = preset.data == BenchmarkData::random_tokens;
  require<UsageError>(random_tokens || options.vocab_size == 0,
                      "bench train: the vocabulary of preset {} is that of its task; leave --vocab-size away",
                      options.preset);
  require<UsageError>(!random_tokens || options.packing.empty(),
                      "bench train: the sequences of preset {} have one length; --packing is for rank and bert",
                      options.preset);
  override_with(options.batch, preset.sequences);
  override_with(options.context, preset.model.max_length);
  override_with(options.layers, preset.model.layers);
  override_with(options.heads, preset.model.heads);
  override_with(options.kv_heads, preset.model.kv_heads);
  override_with(options.d_model, preset.model.d_model);
  if (options.d_model > 0) preset.model.d_ff = 0;
  override_with(options.d_ff, preset.model.d_ff);
  override_with(options.vocab_size, preset.model.vocab_size);
  return make_benchmark(preset, options.packing == "padded" ? data::Packing::padded : data::Packing::packed);
}

void run_bench_train(const BenchOptions& options) {
  apply_threads(options.common);
  const TrainBenchmark benchmark = configured(options);
  const Precision precision = precision_of(options.common);
  // The peak is the better of one measured before the steps and one after: it shall not profit from a slow moment.
  const double peak_before = measure_peak_gflops(precision);
  const TrainTimings timings = time_training(benchmark, precision, options.steps);
  const double peak = std::max(peak_before, measure_peak_gflops(precision));
  const data::Batch& batch = benchmark.batch;
  const int64_t rows = batch.input.ids.numel() + (batch.source.ids.defined() ? batch.source.ids.numel() : 0);
  const double tokens_per_second = static_cast<double>(batch.tokens()) / timings.median_ms * 1e3;
  const double gflops = timings.gflop_per_step / timings.median_ms * 1e3;
  const Json result = {{"preset", options.preset},
                       {"precision", std::string(name_of(precision))},
                       {"threads", thread_count()},
                       {"batch", batch.sequences()},
                       {"context", benchmark.model.max_length},
                       {"tokens", batch.tokens()},
                       {"rows", rows},
                       {"parameters", timings.parameters},
                       {"ms_per_step", {{"min", timings.min_ms}, {"median", timings.median_ms}}},
                       {"tokens_per_second", tokens_per_second},
                       {"gflop_per_step", timings.gflop_per_step},
                       {"gflops", gflops},
                       {"peak_gflops", peak},
                       {"share_of_peak", gflops / peak},
                       {"peak_memory_mib", timings.peak_memory_mib},
                       {"system_allocations", timings.system_allocations}};
  if (options.common.json) {
    fmt::print("{}\n", format_json(result, JsonStyle::compact));
    return;
  }
  fmt::print(
      "{} {} · {} parameters · {} sequences, {} tokens in {} rows · {} threads\n"
      "  {:.1f} ms a step (best {:.1f}) · {:.0f} tokens/s\n"
      "  {:.1f} GFLOP a step · {:.1f} GFLOP/s · {:.1f} % of this machine's {:.1f} GFLOP/s\n"
      "  {:.0f} MiB at most · {} allocations from the system during the steps\n",
      options.preset, name_of(precision), timings.parameters, batch.sequences(), batch.tokens(), rows, thread_count(),
      timings.median_ms, timings.min_ms, tokens_per_second, timings.gflop_per_step, gflops, 100.0 * gflops / peak, peak,
      timings.peak_memory_mib, timings.system_allocations);
}

}  // namespace

void add_bench(CLI::App& program) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* bench = program.add_subcommand("bench", "Measure speed against what this machine can do");
  bench->require_subcommand(1);
  CLI::App* train = bench->add_subcommand("train", "Time whole training steps of a preset model");
  train->add_option("--preset", options->preset, benchmark_presets)->capture_default_str();
  train->add_option("--steps", options->steps, "Steps to time")->check(CLI::Range(1, 1000000))->capture_default_str();
  const auto dimension = [&](const char* flag, int64_t& value, const char* help) {
    train->add_option(flag, value, help)->check(CLI::Range(int64_t{1}, int64_t{1} << 24));
  };
  dimension("--batch", options->batch, "Sequences in a batch, instead of the preset's");
  dimension("--context", options->context, "Tokens in the longest sequence");
  train->add_option("--packing", options->packing, "Sequences of different lengths packed or padded (default: packed)")
      ->check(CLI::IsMember({"packed", "padded"}));
  dimension("--layers", options->layers, "Transformer blocks");
  dimension("--heads", options->heads, "Attention heads");
  dimension("--kv-heads", options->kv_heads, "Key and value heads");
  dimension("--d-model", options->d_model, "Model width");
  dimension("--d-ff", options->d_ff, "Feed-forward width");
  dimension("--vocab-size", options->vocab_size, "Vocabulary");
  add_precision(*train, options->common);
  add_threads(*train, options->common);
  add_json(*train, options->common);
  train->callback([options] { run_bench_train(*options); });
}

}  // namespace weft::app
