#include <benchmark/benchmark.h>
#include <sentencepiece_processor.h>

#include <cstdlib>
#include <filesystem>

#include "weft/base/files.h"
#include "weft/base/threads.h"
#include "weft/text/pipeline_tokenizer.h"
#include "weft/text/tokenizer_file.h"

namespace weft::text {
namespace {

// WEFT_BENCH_TOKENIZER: a tokenizer; WEFT_BENCH_TEXT: a text file, which is encoded line by line.
// WEFT_BENCH_SENTENCEPIECE: a .model file, for the sentencepiece library itself.
struct Input {
  std::unique_ptr<Tokenizer> tokenizer;
  std::string text;
  std::vector<TextPair> lines;

  Input() {
    const char* tokenizer_path = std::getenv("WEFT_BENCH_TOKENIZER");
    const char* text_path = std::getenv("WEFT_BENCH_TEXT");
    if (tokenizer_path == nullptr || text_path == nullptr) return;
    tokenizer = load_tokenizer(tokenizer_path);
    text = read_file(text_path);
    const std::string_view all = text;
    for (size_t begin = 0; begin < all.size();) {
      const size_t end = std::min(all.find('\n', begin), all.size());
      lines.push_back({all.substr(begin, end - begin)});
      begin = end + 1;
    }
  }
};

const Input& input() {
  static const Input shared;
  return shared;
}

void encode_lines(benchmark::State& state) {
  const auto* tokenizer = dynamic_cast<const EncodingTokenizer*>(input().tokenizer.get());
  if (tokenizer == nullptr) {
    state.SkipWithError("set WEFT_BENCH_TOKENIZER and WEFT_BENCH_TEXT");
    return;
  }
  set_thread_count(static_cast<int>(state.range(0)));
  const EncodeOptions options{.detail = static_cast<EncodeDetail>(state.range(1))};
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer->encode_batch(input().lines, options));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(input().text.size()));
}
BENCHMARK(encode_lines)->ArgNames({"threads", "detail"})->ArgsProduct({{1, 2}, {0, 1, 2}})->UseRealTime();

// The sentencepiece library's own speed, by the same threads in the same way.
void sentencepiece_lines(benchmark::State& state) {
  const char* path = std::getenv("WEFT_BENCH_SENTENCEPIECE");
  sentencepiece::SentencePieceProcessor processor;
  if (path == nullptr || input().lines.empty() || !processor.Load(path).ok()) {
    state.SkipWithError("set WEFT_BENCH_SENTENCEPIECE, WEFT_BENCH_TOKENIZER and WEFT_BENCH_TEXT");
    return;
  }
  set_thread_count(static_cast<int>(state.range(0)));
  const auto& lines = input().lines;
  constexpr size_t lines_per_task = 32;
  for (auto _ : state) {
    std::vector<std::vector<int>> ids(lines.size());
    parallel_tasks(static_cast<int64_t>((lines.size() + lines_per_task - 1) / lines_per_task), [&](int64_t task) {
      const size_t begin = static_cast<size_t>(task) * lines_per_task;
      for (size_t i = begin; i < std::min(begin + lines_per_task, lines.size()); ++i) {
        processor.Encode({lines[i].text.data(), lines[i].text.size()}, &ids[i]).IgnoreError();
      }
    });
    benchmark::DoNotOptimize(ids);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(input().text.size()));
}
BENCHMARK(sentencepiece_lines)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

// The whole text as one.
void encode_text(benchmark::State& state) {
  if (input().tokenizer == nullptr) {
    state.SkipWithError("set WEFT_BENCH_TOKENIZER and WEFT_BENCH_TEXT");
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(input().tokenizer->encode(input().text));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(input().text.size()));
}
BENCHMARK(encode_text)->UseRealTime();

}  // namespace
}  // namespace weft::text
