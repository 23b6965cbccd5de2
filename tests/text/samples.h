#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/base/json.h"
#include "weft/text/pipeline_tokenizer.h"

namespace weft::text {

// Compares a tokenizer with what a reference implementation makes of a list of texts: `cases.jsonl`, `pairs.jsonl` and
// `truncation.jsonl`, one JSON value a line, offsets in code points. Returns a line for each difference.
std::vector<std::string> check_cases(const PipelineTokenizer& tokenizer, const std::filesystem::path& file);
std::vector<std::string> check_pairs(const PipelineTokenizer& tokenizer, const std::filesystem::path& file);

// The JSON values of a file's lines.
std::vector<Json> read_rows(const std::filesystem::path& file);

}  // namespace weft::text
