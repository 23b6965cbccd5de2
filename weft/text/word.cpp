#include "weft/text/word.h"

#include "weft/base/error.h"
#include "weft/base/shorten.h"
#include "weft/text/limits.h"

namespace weft::text {

namespace {

WordTokenizerConfig with_numbers(int count, WordTokenizerConfig config) {
  require(count >= 0, "number words: expected a count, got {}", count);
  for (int number = 0; number < count; ++number) config.words.push_back(std::to_string(number));
  return config;
}

}  // namespace

WordTokenizer::WordTokenizer(const WordTokenizerConfig& config)
    : vocabulary_(config.words, config.special), max_length_(config.max_length) {
  require(max_length_ >= 0, "word tokenizer: max_length must not be negative, got {}", max_length_);
  for (const std::string& word : vocabulary_.tokens()) {
    const auto pieces = split_whitespace(word);
    require(pieces.size() == 1 && pieces[0] == word, "word tokenizer: the word \"{}\" contains white space", word);
  }
}

std::vector<int32_t> WordTokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  for (std::string_view piece : split_whitespace(text)) {
    if (max_length_ > 0 && static_cast<int64_t>(ids.size()) == max_length_) break;
    const std::string word = repair_utf8(piece);
    const std::optional<int32_t> id = vocabulary_.find(word);
    if (!id && !vocabulary_.special().unk) {
      fail("word tokenizer: \"{}\" is not among the {} words of the vocabulary, and there is no unknown token",
           shortened(word), vocab_size());
    }
    ids.push_back(id ? *id : *vocabulary_.special().unk);
  }
  return ids;
}

std::string WordTokenizer::decode_bytes(std::span<const int32_t> ids, SpecialTokens special) const {
  std::string text;
  for (int32_t id : ids) {
    if (special == SpecialTokens::skip && vocabulary_.is_skipped(id)) continue;
    if (!text.empty()) text += ' ';
    text += vocabulary_.shown(id);
    require_decodable(text.size(), ids.size());
  }
  return text;
}

WordTokenizerConfig number_words(int count) {
  return with_numbers(count, {.words = {"<PAD>", "<BOS>", "<EOS>"},
                              .special = {.bos = "<BOS>", .eos = "<EOS>", .pad = "<PAD>", .unk = std::nullopt},
                              .max_length = 0});
}

WordTokenizerConfig masked_number_words(int count) {
  return with_numbers(count, {.words = {"[PAD]", "[MASK]", "[CLS]"},
                              .special = {.bos = "[CLS]", .eos = std::nullopt, .pad = "[PAD]", .unk = std::nullopt},
                              .max_length = 0});
}

}  // namespace weft::text
