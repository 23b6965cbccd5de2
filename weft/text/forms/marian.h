#pragma once

#include <filesystem>
#include <memory>

#include "weft/text/forms/sentence_piece.h"
#include "weft/text/token_table.h"

namespace weft::text {

// The two SentencePiece models of a Marian translation model and the vocabulary that they share: texts are cut by the
// source's model, ids come from `vocab.json`, decoding joins by the target's. A language code `>>de<<` at the start of
// a text is one token. Special tokens: `</s>` at the end; padding `<pad>`, unknown `<unk>`.
class MarianTokenizer final : public EncodingTokenizer {
 public:
  using EncodingTokenizer::encode;

  // `folder` has source.spm, target.spm and vocab.json.
  explicit MarianTokenizer(const std::filesystem::path& folder);

  std::string decode_bytes(std::span<const int32_t> ids, SpecialTokens special) const override;
  int32_t vocab_size() const override { return vocabulary_.id_end(); }
  std::string token(int32_t id) const override;
  std::optional<int32_t> find(std::string_view token) const override { return vocabulary_.find(token); }
  const SpecialIds& special() const override { return special_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  Encoding encode_text(const EncodeRequest& request) const override;
  const PostProcessor* post_processor() const override { return post_processor_.get(); }

  std::filesystem::path folder_;
  SentencePieceModel source_;
  SentencePieceModel target_;
  TokenTable vocabulary_;
  SpecialIds special_;
  std::unique_ptr<PostProcessor> post_processor_;
};

}  // namespace weft::text
