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

// The visible character that stands for a byte in byte-level vocabularies (GPT-2, Radford et al. 2019): itself where it
// is a printable character of Latin-1, else the next free one from U+0100.
char32_t visible_byte(uint8_t byte);

}  // namespace weft::text
