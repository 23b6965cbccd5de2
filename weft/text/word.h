#pragma once

#include "weft/text/tokenizer.h"
#include "weft/text/vocabulary.h"

namespace weft::text {

struct WordTokenizerConfig {
  std::vector<std::string> words;  // special tokens may stand among them
  SpecialNames special;
  int64_t max_length = 0;  // encode() keeps at most this many ids; 0: all
};

// One id per word between white space, from a fixed vocabulary (E1 of the notes). Decoding puts single spaces between
// words. A special token's name written in the text is that token.
class WordTokenizer final : public Tokenizer {
 public:
  explicit WordTokenizer(const WordTokenizerConfig& config);

  std::vector<int32_t> encode(std::string_view text) const override;
  std::string decode_bytes(std::span<const int32_t> ids, SpecialTokens special) const override;
  int32_t vocab_size() const override { return vocabulary_.size(); }
  std::string token(int32_t id) const override { return vocabulary_.token(id); }
  std::optional<int32_t> find(std::string_view token) const override { return vocabulary_.find(token); }
  const SpecialIds& special() const override { return vocabulary_.special(); }
  int64_t max_length() const { return max_length_; }

 private:
  Vocabulary vocabulary_;
  int64_t max_length_;
};

// The numbers below `count` as words, with PAD 0, BOS 1, EOS 2: the number n has id n + 3 (the tasks of the notes, F1
// to F3).
WordTokenizerConfig number_words(int count);
// The same with PAD 0, MASK 1, CLS 2, of which CLS begins a sequence.
WordTokenizerConfig masked_number_words(int count);

}  // namespace weft::text
