#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/text/tokenizer.h"

namespace weft::generate {

// How a model folder wants its text begun and ended: generation_config.json, in the Hugging Face layout.
struct GenerationConfig {
  std::optional<int32_t> bos_id{};          // "bos_token_id": put before every prompt
  std::optional<int32_t> eos_id{};          // "eos_token_id": ends a sequence
  std::optional<int64_t> max_new_tokens{};  // "max_new_tokens"
};

// All absent if the folder has no such file; other keys of the file are not read. FormatError for a bad file or value.
GenerationConfig load_generation_config(const std::filesystem::path& folder);
void save_generation_config(const std::filesystem::path& folder, const GenerationConfig& config);

// The ids of a prompt: BOS if the model wants one, then the text. weft::Error as the tokenizer's encode().
std::vector<int32_t> encode_prompt(const text::Tokenizer& tokenizer, const GenerationConfig& config,
                                   std::string_view text);

}  // namespace weft::generate
