#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/encoding_tokenizer.h"
#include "weft/text/vocabulary.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace weft::text {

// A piece that the library cut out of a text, and the bytes of the text that it stands for.
struct SurfacePiece {
  std::string piece;
  int32_t id;
  ByteRange range;
};

// A SentencePiece model (unigram or BPE), run by the sentencepiece library.
class SentencePieceModel {
 public:
  // `bytes`: a `.model` file; `source`: its name. FormatError if it is none.
  SentencePieceModel(std::string_view bytes, std::string source);
  SentencePieceModel(SentencePieceModel&&) noexcept;
  SentencePieceModel& operator=(SentencePieceModel&&) noexcept;
  ~SentencePieceModel();

  // weft::Error for a long text that the library would take all memory or no end of time for.
  std::vector<SurfacePiece> encode(std::string_view text) const;
  std::vector<int32_t> encode_ids(std::string_view text) const;
  std::string decode(const std::vector<int>& ids) const;
  std::string decode(const std::vector<std::string>& pieces) const;
  int32_t size() const;
  const std::string& piece(int32_t id) const;  // `id` must be in range
  std::optional<int32_t> find(std::string_view piece) const;
  bool is_control(int32_t id) const;
  SpecialIds special() const;  // as the model's own roles say

 private:
  void rehearse(std::string_view text) const;

  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  size_t growth_;  // times that the character map may make a text longer
};

// A `.model` file as a tokenizer. Encoding adds no BOS or EOS, as the library by default; a control symbol's name in a
// text is text. Control symbols are left out of decoded text, unknown pieces read as ` ⁇ `.
class SentencePieceTokenizer final : public EncodingTokenizer {
 public:
  using EncodingTokenizer::encode;

  SentencePieceTokenizer(SentencePieceModel model, std::string bytes, const SpecialNames& roles);
  static SentencePieceTokenizer read(const std::filesystem::path& path, const SpecialNames& roles = {});

  std::vector<int32_t> encode(std::string_view text) const override;
  std::string decode_bytes(std::span<const int32_t> ids, SpecialTokens special) const override;
  int32_t vocab_size() const override { return model_.size(); }
  std::string token(int32_t id) const override;
  std::optional<int32_t> find(std::string_view token) const override { return model_.find(token); }
  const SpecialIds& special() const override { return special_; }
  // The file's content, to be written again as it was.
  const std::string& bytes() const { return bytes_; }

 private:
  Encoding encode_text(const EncodeRequest& request) const override;
  const PostProcessor* post_processor() const override { return nullptr; }

  SentencePieceModel model_;
  std::string bytes_;
  SpecialIds special_;
};

// The encoding of pieces of an aligned text: `offsets` point into its original.
Encoding encoding_of_pieces(const std::vector<SurfacePiece>& pieces, const AlignedText& text, int32_t type_id,
                            EncodeDetail detail);

}  // namespace weft::text
