#pragma once

#include <unordered_map>

#include "weft/text/tokenizer.h"
#include "weft/text/vocabulary.h"

namespace weft::text {

// One id per Unicode code point. The vocabulary is fixed; a special token's name written in the text is read as
// characters.
class CharacterTokenizer final : public Tokenizer {
 public:
  // `characters`: one code point each; special tokens may stand among them and have any name.
  CharacterTokenizer(std::vector<std::string> characters, const SpecialNames& special);
  // The distinct characters of `text`, in the order of their code points, then the special tokens.
  static CharacterTokenizer train(std::string_view text, const SpecialNames& special = {});

  std::vector<int32_t> encode(std::string_view text) const override;
  std::string decode_bytes(std::span<const int32_t> ids, SpecialTokens special) const override;
  int32_t vocab_size() const override { return vocabulary_.size(); }
  std::string token(int32_t id) const override { return vocabulary_.token(id); }
  std::optional<int32_t> find(std::string_view token) const override { return vocabulary_.find(token); }
  const SpecialIds& special() const override { return vocabulary_.special(); }

 private:
  Vocabulary vocabulary_;
  std::unordered_map<char32_t, int32_t> ids_;
};

}  // namespace weft::text
