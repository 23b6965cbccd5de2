#pragma once

#include <filesystem>

#include "weft/base/json.h"

namespace weft::text {

// Older published forms, as the tokenizer.json that means the same. A `tokenizer_config.json` in the same folder is
// heeded where it says how text is cut.

// BERT's `vocab.txt`: one token a line, its number from 0 the id. The lower-casing model unless the configuration says
// otherwise.
Json document_of_vocab_txt(const std::filesystem::path& vocab);

// GPT-2's `vocab.json` and `merges.txt`; RoBERTa's special tokens if the configuration names that tokenizer.
Json document_of_merges(const std::filesystem::path& vocab, const std::filesystem::path& merges);

}  // namespace weft::text
