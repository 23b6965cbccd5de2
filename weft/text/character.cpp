#include "weft/text/character.h"

#include <algorithm>
#include <set>

#include "weft/base/error.h"
#include "weft/text/limits.h"

namespace weft::text {

CharacterTokenizer::CharacterTokenizer(std::vector<std::string> characters, const SpecialNames& special)
    : vocabulary_(std::move(characters), special) {
  const SpecialIds& roles = vocabulary_.special();
  for (int32_t id = 0; id < vocabulary_.size(); ++id) {
    const std::string& token = vocabulary_.token(id);
    const CodePoint character = first_code_point(token);
    const bool is_special = vocabulary_.is_skipped(id) || id == roles.unk;
    if (character.length == token.size()) {
      if (!is_special) ids_[character.value] = id;
    } else {
      require(is_special, "character tokenizer: token {}, \"{}\", is not one character", id, token);
    }
  }
}

CharacterTokenizer CharacterTokenizer::train(std::string_view text, const SpecialNames& special) {
  std::set<char32_t> distinct;
  for (char32_t value : to_code_points(text)) distinct.insert(value);
  std::vector<std::string> characters;
  for (char32_t value : distinct) characters.push_back(to_utf8(value));
  return CharacterTokenizer(std::move(characters), special);
}

std::vector<int32_t> CharacterTokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size());
  size_t position = 0;
  while (position < text.size()) {
    const CodePoint next = first_code_point(text.substr(position));
    const auto found = ids_.find(next.value);
    if (found == ids_.end() && !special().unk) {
      fail(
          "character tokenizer: '{}' (U+{:04X}, byte {}) is not among the {} characters of the vocabulary, and there "
          "is no "
          "unknown token",
          to_utf8(next.value), static_cast<uint32_t>(next.value), position, vocab_size());
    }
    ids.push_back(found != ids_.end() ? found->second : *special().unk);
    position += next.length;
  }
  return ids;
}

std::string CharacterTokenizer::decode_bytes(std::span<const int32_t> ids, SpecialTokens special) const {
  std::string text;
  for (int32_t id : ids) {
    if (special == SpecialTokens::skip && vocabulary_.is_skipped(id)) continue;
    text += vocabulary_.shown(id);
    require_decodable(text.size(), ids.size());
  }
  return text;
}

}  // namespace weft::text
