#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/generate/generation_config.h"
#include "weft/models/model_folder.h"
#include "weft/text/tokenizer.h"

namespace weft::app {

// A loaded Bert with its tokenizer: what fill-mask, classify and attention begin with.
struct LoadedBert {
  explicit LoadedBert(const std::string& folder);

  // The ids of a text as the model reads them: with the special tokens that its tokenizer puts around a text; if it
  // puts none, with the folder's first token (CLS), if that is named.
  std::vector<int32_t> encode(const std::string& line) const;
  // The same of a line of input.
  // weft::Error, naming the line by its number from 1, for a line without tokens and one longer than the model takes.
  std::vector<int32_t> encode(const std::string& line, int64_t number) const;

  std::unique_ptr<models::WithParameters<models::Bert>> model;
  std::unique_ptr<text::Tokenizer> tokenizer;
  generate::GenerationConfig config;
};

// The larger number first, equals in their order; at most `count` of them.
std::vector<size_t> largest_first(std::span<const float> values, size_t count);
// softmax(logits).
std::vector<float> probabilities_of(std::span<const float> logits);

}  // namespace weft::app
