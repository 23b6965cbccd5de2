#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>

#include "weft/base/files.h"
#include "weft/base/threads.h"
#include "weft/text/pipeline_tokenizer.h"
#include "weft/text/tokenizer_file.h"

namespace weft::text {
namespace {

// WEFT_BENCH_TOKENIZER: a tokenizer; WEFT_BENCH_TEXT: a text file. Encodes the text line by line, some MB at a time.
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
  const EncodeOptions options{.detail = state.range(1) == 0 ? EncodeDetail::ids : EncodeDetail::all};
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer->encode_batch(input().lines, options));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(input().text.size()));
}
BENCHMARK(encode_lines)->ArgNames({"threads", "all"})->ArgsProduct({{1, 2}, {0, 1}})->UseRealTime();

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
