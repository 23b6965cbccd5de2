#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/json.h"
#include "weft/text/added_tokens.h"
#include "weft/text/decoders/decoder.h"
#include "weft/text/encoding.h"
#include "weft/text/models/token_model.h"
#include "weft/text/normalizers/normalizer.h"
#include "weft/text/post_processors/post_processor.h"
#include "weft/text/pre_tokenizers/pre_tokenizer.h"
#include "weft/text/tokenizer.h"
#include "weft/text/vocabulary.h"
#include "weft/text/word_cache.h"

namespace weft::text {

// One text, or two that belong together.
struct TextPair {
  std::string_view text;
  std::optional<std::string_view> pair = std::nullopt;
};

enum class EncodeDetail {
  ids,  // ids, type ids and masks
  all   // tokens, offsets and word ids too
};

struct EncodeOptions {
  AddSpecialTokens special_tokens = AddSpecialTokens::yes;
  EncodeDetail detail = EncodeDetail::all;
  std::optional<Truncation> truncation = std::nullopt;
  std::optional<Padding> padding = std::nullopt;
};

// A tokenizer as a tokenizer.json describes it: added tokens are found, the rest is normalized, pre-tokenized, given to
// the model, post-processed; and decoded on the way back. Same answers, token for token, as the reference
// implementation. Bad bytes in a text are read as U+FFFD; offsets then point at those bytes. May be used by several
// threads at once.
class PipelineTokenizer final : public Tokenizer {
 public:
  // `document`: what stands in a tokenizer.json; `source`: its name, for messages. Roles name special tokens, which
  // must be in the vocabulary. FormatError, with the place, for anything not known.
  PipelineTokenizer(Json document, std::string source, const SpecialNames& roles = {});

  // The document again, without loss.
  Json document() const;

  // What the document says about truncation and padding.
  EncodeOptions default_options() const { return default_options_; }

  Encoding encode(const TextPair& texts, const EncodeOptions& options) const;
  // Each as by itself, but padded together; in parallel.
  std::vector<Encoding> encode_batch(std::span<const TextPair> texts, const EncodeOptions& options) const;

  // No special tokens, no truncation, no padding.
  std::vector<int32_t> encode(std::string_view text) const override;
  std::string decode_bytes(std::span<const int32_t> ids, SpecialTokens special) const override;
  int32_t vocab_size() const override { return vocab_size_; }
  std::string token(int32_t id) const override;
  std::optional<int32_t> find(std::string_view token) const override;
  const SpecialIds& special() const override { return special_; }

  const TokenModel& model() const { return *model_; }
  const AddedTokens& added_tokens() const { return added_; }

 private:
  class PieceEncoder;
  struct Request {
    std::string_view text;
    int32_t type_id;
    EncodeDetail detail;
    Side kept_end = Side::left;                   // where tokens are taken from, if not all are
    std::optional<size_t> enough = std::nullopt;  // tokens after which no further piece is looked at
  };

  void read_parts(const JsonView& root);
  void read_roles(const SpecialNames& roles);
  Encoding encode_text(const Request& request) const;
  Encoding encode_one(const TextPair& texts, const EncodeOptions& options) const;
  std::unique_ptr<WordCache> take_cache() const;
  void give_back(std::unique_ptr<WordCache> cache) const;

  Json description_;  // the document without vocabulary and merges
  std::string source_;
  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<TokenModel> model_;
  std::unique_ptr<PostProcessor> post_processor_;
  std::unique_ptr<Decoder> decoder_;
  AddedTokens added_;
  EncodeOptions default_options_;
  SpecialIds special_;
  int32_t vocab_size_ = 0;
  mutable std::mutex caches_mutex_;
  mutable std::vector<std::unique_ptr<WordCache>> caches_;  // those not in use
};

}  // namespace weft::text
