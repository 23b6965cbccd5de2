#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/data/dataset.h"
#include "weft/text/tokenizer.h"

namespace weft::data {

struct TextCorpusConfig {
  double validation_share = 0.1;  // of the tokens, taken from the end; in [0, 1). 0: no validation part
  int64_t context = 256;          // tokens of a training sequence
  int64_t batch_size = 32;        // sequences of a batch
  uint64_t seed = 0;
};

// The tokens of one text, its first part for training and the rest for validation.
class TextCorpus {
 public:
  // `source` names the text in messages. weft::Error if the text is empty, has tokens outside the tokenizer's
  // vocabulary, or is too short for one block of context + 1 tokens in the training part and two tokens in the
  // validation part.
  TextCorpus(std::string_view text, std::string_view source, const text::Tokenizer& tokenizer,
             const TextCorpusConfig& config);

  // Blocks of context + 1 tokens (inputs and, one later, targets) that start anywhere in the training part, drawn by
  // seed. Block i is the same for every batch size. An epoch is as many batches as it takes to read the part's length
  // in tokens.
  std::unique_ptr<Dataset> training() const;
  // Every token of the validation part but its first is predicted once: consecutive blocks of `context` tokens in
  // order, the last one as long as it comes; batch_size blocks a batch. Null if there is no validation part.
  std::unique_ptr<Dataset> validation() const;

  int64_t training_tokens() const { return static_cast<int64_t>(training_->size()); }
  int64_t validation_tokens() const { return static_cast<int64_t>(validation_->size()); }

 private:
  TextCorpusConfig config_;
  std::shared_ptr<const std::vector<int32_t>> training_;
  std::shared_ptr<const std::vector<int32_t>> validation_;
};

// A whole text file, at most 4 GiB. IoError if it cannot be read, FormatError if it is empty.
std::string read_text(const std::filesystem::path& path);

}  // namespace weft::data
