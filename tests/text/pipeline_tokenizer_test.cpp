#include "weft/text/pipeline_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/text/samples.h"
#include "weft/base/files.h"

namespace weft::text {
namespace {

namespace fs = std::filesystem;

fs::path fixtures() { return fs::path(WEFT_SOURCE_DIR) / "tests/fixtures/tokenizers"; }

PipelineTokenizer load(const fs::path& path) {
  return PipelineTokenizer(parse_json(read_file(path), path.string()), path.string());
}

std::vector<std::string> check_folder(const fs::path& folder) {
  const PipelineTokenizer tokenizer = load(folder / "tokenizer.json");
  std::vector<std::string> differences = check_cases(tokenizer, folder / "cases.jsonl");
  for (const char* file : {"pairs.jsonl", "truncation.jsonl"}) {
    if (!fs::exists(folder / file)) continue;
    const auto more = check_pairs(tokenizer, folder / file);
    differences.insert(differences.end(), more.begin(), more.end());
  }
  return differences;
}

// WEFT_TOKENIZER_SAMPLES names a folder of further samples, one folder a tokenizer.
TEST(PipelineTokenizer, AgreesWithTheReferenceOnAFolderOfSamples) {
  const char* all = std::getenv("WEFT_TOKENIZER_SAMPLES");
  const fs::path folder = all != nullptr ? fs::path(all) : fixtures();
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!fs::exists(entry.path() / "tokenizer.json") || !fs::exists(entry.path() / "cases.jsonl")) continue;
    SCOPED_TRACE(entry.path().string());
    const auto differences = check_folder(entry.path());
    for (size_t i = 0; i < std::min<size_t>(differences.size(), 10); ++i) ADD_FAILURE() << differences[i];
    EXPECT_EQ(differences.size(), 0u);
    ++count;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace weft::text
