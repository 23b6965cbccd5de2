#pragma once

#include "weft/text/tokenizer.h"
#include "weft/text/vocabulary.h"

namespace weft::text {

// Byte b has id b; special tokens follow from 256. Nothing is unknown, and decode_bytes(encode(text)) is `text` for any
// bytes at all.
class ByteTokenizer final : public Tokenizer {
 public:
  // `special.unk` must be absent.
  explicit ByteTokenizer(const SpecialNames& special = {});

  std::vector<int32_t> encode(std::string_view text) const override;
  std::string decode_bytes(std::span<const int32_t> ids, SpecialTokens special) const override;
  int32_t vocab_size() const override { return vocabulary_.size(); }
  std::string token(int32_t id) const override { return vocabulary_.token(id); }
  std::optional<int32_t> find(std::string_view token) const override { return vocabulary_.find(token); }
  const SpecialIds& special() const override { return vocabulary_.special(); }

 private:
  Vocabulary vocabulary_;
};

}  // namespace weft::text
