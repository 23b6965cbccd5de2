#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/json.h"
#include "weft/text/added_tokens.h"
#include "weft/text/decoders/decoder.h"
#include "weft/text/encoding.h"
#include "weft/text/encoding_tokenizer.h"
#include "weft/text/models/token_model.h"
#include "weft/text/normalizers/normalizer.h"
#include "weft/text/pre_tokenizers/pre_tokenizer.h"
#include "weft/text/vocabulary.h"
#include "weft/text/word_cache.h"

namespace weft::text {

// A tokenizer as a tokenizer.json describes it: added tokens are found, the rest is normalized, pre-tokenized, given to
// the model, post-processed; and decoded on the way back. Same answers, token for token, as the reference
// implementation. Bad bytes in a text are read as U+FFFD; offsets then point at those bytes. May be used by several
// threads at once.
class PipelineTokenizer final : public EncodingTokenizer {
 public:
  using EncodingTokenizer::encode;

  // `document`: what stands in a tokenizer.json; `source`: its name, for messages. Roles name special tokens, which
  // must be in the vocabulary. FormatError, with the place, for anything not known.
  PipelineTokenizer(Json document, std::string source, const SpecialNames& roles = {});

  // The document again, without loss.
  Json document() const;

  std::string decode_bytes(std::span<const int32_t> ids, SpecialTokens special) const override;
  int32_t vocab_size() const override { return vocab_size_; }
  std::string token(int32_t id) const override;
  std::optional<int32_t> find(std::string_view token) const override;
  const SpecialIds& special() const override { return special_; }

  const TokenModel& model() const { return *model_; }
  const AddedTokens& added_tokens() const { return added_; }

 private:
  class PieceEncoder;

  void read_parts(const JsonView& root);
  void read_roles(const SpecialNames& roles);
  Encoding encode_text(const EncodeRequest& request) const override;
  const PostProcessor* post_processor() const override { return post_processor_.get(); }

  Json description_;  // the document without vocabulary and merges
  std::string source_;
  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<TokenModel> model_;
  std::unique_ptr<PostProcessor> post_processor_;
  std::unique_ptr<Decoder> decoder_;
  AddedTokens added_;
  SpecialIds special_;
  int32_t vocab_size_ = 0;
  mutable WordCachePool caches_;
};

}  // namespace weft::text
