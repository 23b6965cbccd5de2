#include "weft/data/text_corpus.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/base/rng.h"
#include "weft/data/fingerprint.h"

namespace weft::data {

namespace {

using Tokens = std::shared_ptr<const std::vector<int32_t>>;

constexpr uint64_t block_site = 0x626c6f636b73;  // the random stream of block starts

class RandomBlocks final : public Dataset {
 public:
  RandomBlocks(Tokens tokens, const TextCorpusConfig& config)
      : tokens_(std::move(tokens)), config_(config), rng_(Rng{config.seed}.split(block_site)) {}

  int64_t batches_per_epoch() const override {
    return std::max<int64_t>(1, static_cast<int64_t>(tokens_->size()) / (config_.batch_size * config_.context));
  }

  Batch batch(int64_t index) const override {
    const auto context = static_cast<size_t>(config_.context);
    const std::span<const int32_t> tokens = *tokens_;
    BatchBuilder builder;
    for (int64_t i = 0; i < config_.batch_size; ++i) {
      const auto block = static_cast<uint64_t>(index * config_.batch_size + i);
      const uint64_t start = rng_.below(tokens.size() - context, block);
      builder.add({.ids = tokens.subspan(start, context), .targets = tokens.subspan(start + 1, context)});
    }
    return builder.finish();
  }

  uint64_t fingerprint() const override {
    return fingerprint_of(*tokens_, {static_cast<uint64_t>(config_.context), config_.seed});
  }

 private:
  Tokens tokens_;
  TextCorpusConfig config_;
  Rng rng_;
};

class ConsecutiveBlocks final : public Dataset {
 public:
  ConsecutiveBlocks(Tokens tokens, const TextCorpusConfig& config) : tokens_(std::move(tokens)), config_(config) {}

  int64_t batches_per_epoch() const override { return (blocks() + config_.batch_size - 1) / config_.batch_size; }

  Batch batch(int64_t index) const override {
    const std::span<const int32_t> tokens = *tokens_;
    const int64_t first = index % batches_per_epoch() * config_.batch_size;
    BatchBuilder builder;
    for (int64_t block = first; block < std::min(first + config_.batch_size, blocks()); ++block) {
      const int64_t begin = block * config_.context;
      const int64_t length = std::min(config_.context, predictions() - begin);
      builder.add({.ids = tokens.subspan(static_cast<size_t>(begin), static_cast<size_t>(length)),
                   .targets = tokens.subspan(static_cast<size_t>(begin + 1), static_cast<size_t>(length))});
    }
    return builder.finish();
  }

  uint64_t fingerprint() const override { return fingerprint_of(*tokens_, {static_cast<uint64_t>(config_.context)}); }

 private:
  int64_t predictions() const { return static_cast<int64_t>(tokens_->size()) - 1; }
  int64_t blocks() const { return (predictions() + config_.context - 1) / config_.context; }

  Tokens tokens_;
  TextCorpusConfig config_;
};

void check(const TextCorpusConfig& config) {
  require(config.validation_share >= 0.0 && config.validation_share < 1.0,
          "text corpus: validation_share is in [0, 1), got {}", config.validation_share);
  require(config.context >= 1, "text corpus: context is 1 or more, got {}", config.context);
  require(config.batch_size >= 1, "text corpus: batch_size is 1 or more, got {}", config.batch_size);
}

}  // namespace

TextCorpus::TextCorpus(std::string_view text, std::string_view source, const text::Tokenizer& tokenizer,
                       const TextCorpusConfig& config)
    : config_(config) {
  check(config);
  require<FormatError>(!text.empty(), "{}: expected some text to train on, the file is empty", source);
  std::vector<int32_t> tokens;
  try {
    tokens = tokenizer.encode(text);
  } catch (const Error& error) {
    fail<FormatError>("{}: {}", source, error.what());
  }
  const auto count = static_cast<double>(tokens.size());
  const auto split = tokens.begin() + static_cast<int64_t>(std::floor(count * (1.0 - config.validation_share)));
  training_ = std::make_shared<const std::vector<int32_t>>(tokens.begin(), split);
  validation_ = std::make_shared<const std::vector<int32_t>>(split, tokens.end());
  require<FormatError>(
      training_tokens() > config.context,
      "{}: too short: its training part has {} tokens, and blocks of context + 1 = {} are drawn from it; "
      "take a longer text or a smaller context",
      source, training_tokens(), config.context + 1);
  require<FormatError>(
      config.validation_share == 0.0 || validation_tokens() >= 2,
      "{}: too short: its validation part has {} tokens, and 2 are needed; take a longer text, a larger "
      "validation_share, or 0 for no validation",
      source, validation_tokens());
}

std::unique_ptr<Dataset> TextCorpus::training() const { return std::make_unique<RandomBlocks>(training_, config_); }

std::unique_ptr<Dataset> TextCorpus::validation() const {
  if (validation_->empty()) return nullptr;
  return std::make_unique<ConsecutiveBlocks>(validation_, config_);
}

std::string read_text(const std::filesystem::path& path) {
  std::string text = read_file(path);
  require<FormatError>(!text.empty(), "{}: expected some text, the file is empty", path.string());
  return text;
}

}  // namespace weft::data
