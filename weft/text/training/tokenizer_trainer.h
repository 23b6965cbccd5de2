#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/json.h"
#include "weft/text/normalizers/normalizer.h"
#include "weft/text/pipeline_tokenizer.h"
#include "weft/text/pre_tokenizers/pre_tokenizer.h"
#include "weft/text/training/word_counter.h"
#include "weft/text/vocabulary.h"

namespace weft::text {

// The tokenizers that can be trained. Each is a pipeline of its own:
//
//   bpe            byte-level BPE behind GPT-2's pattern; every byte is in the alphabet: nothing is unknown, and
//   decoding
//                  gives back any well-formed text
//   bpe_character  BPE over characters; a blank is written as "▁" at the start of a word, line ends stand alone
//   unigram        unigram language model over the same words
//   wordpiece      BERT's: cleaned, lower-cased unless `cased`, split at white space and punctuation; [CLS] A [SEP]
//   word           words between white space
//   character      every character by itself
enum class TokenizerKind { bpe, bpe_character, unigram, wordpiece, word, character };

// `bpe`, `bpe-character`, `unigram`, `wordpiece`, `word` or `character`; UsageError for anything else.
TokenizerKind parse_tokenizer_kind(std::string_view name);

struct TokenizerTrainerConfig {
  TokenizerKind kind = TokenizerKind::bpe;
  int32_t vocab_size = 8000;   // tokens altogether, special ones too; an alphabet may need more
  uint64_t min_frequency = 0;  // what was seen less often does not become a token; not for unigram
  // Special tokens with a role. bos and eos are put around a text when it is encoded with special tokens. The unknown
  // token is "<unk>" unless named; bpe has none. wordpiece has BERT's own and takes none of these.
  SpecialNames roles;
  std::vector<std::string> special_tokens = {};           // more of them
  std::optional<size_t> limit_alphabet = std::nullopt;    // characters at most; not for bpe and word
  std::optional<size_t> max_token_length = std::nullopt;  // characters; bpe, bpe_character and unigram
  bool cased = false;                                     // wordpiece
  WordCounterConfig counting;
};

// Trains a tokenizer on any amount of text in bounded memory (see WordCounter). The result is the same for any number
// of threads.
class TokenizerTrainer {
 public:
  // weft::Error for settings that the kind does not have.
  explicit TokenizerTrainer(const TokenizerTrainerConfig& config);
  TokenizerTrainer(const TokenizerTrainer&) = delete;
  TokenizerTrainer& operator=(const TokenizerTrainer&) = delete;

  void add_text(std::string_view text) { counter_->add_text(text); }
  void add_file(const std::filesystem::path& path) { counter_->add_file(path); }  // IoError
  // weft::Error if there was nothing to learn from.
  std::unique_ptr<PipelineTokenizer> finish();

  const WordCounter& counter() const { return *counter_; }

 private:
  void split(std::string_view line, FunctionRef<void(std::string_view)> emit) const;
  Json train_model(const std::vector<WordCount>& words) const;
  Json train_bpe_model(const std::vector<WordCount>& words) const;
  Json train_unigram_model(const std::vector<WordCount>& words) const;

  TokenizerTrainerConfig config_;
  std::vector<std::string> special_tokens_;  // all of them, in the order of their ids
  Json pipeline_;                            // the document but for model and added tokens
  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<WordCounter> counter_;
};

}  // namespace weft::text
