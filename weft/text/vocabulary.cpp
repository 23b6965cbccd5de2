#include "weft/text/vocabulary.h"

#include <limits>

#include "weft/base/error.h"
#include "weft/text/limits.h"

namespace weft::text {

Vocabulary::Vocabulary(std::vector<std::string> tokens, const SpecialNames& names) {
  for (std::string& token : tokens) add(std::move(token));
  if (names.pad) special_.pad = find_or_add(*names.pad);
  if (names.bos) special_.bos = find_or_add(*names.bos);
  if (names.eos) special_.eos = find_or_add(*names.eos);
  if (names.unk) special_.unk = find_or_add(*names.unk);
}

void Vocabulary::add(std::string token) {
  require(!token.empty(), "vocabulary: token {} is empty", tokens_.size());
  require(token.size() <= longest_name, "vocabulary: token {} has {} bytes, more than {}", tokens_.size(), token.size(),
          longest_name);
  require(repair_utf8(token) == token, "vocabulary: token {} is not UTF-8", tokens_.size());
  require(tokens_.size() < std::numeric_limits<int32_t>::max(), "vocabulary: more tokens than 31 bits number");
  const auto [position, added] = ids_.try_emplace(token, size());
  require(added, "vocabulary: \"{}\" stands twice, as {} and {}", token, position->second, tokens_.size());
  tokens_.push_back(std::move(token));
}

int32_t Vocabulary::find_or_add(const std::string& token) {
  if (const auto known = find(token)) return *known;
  add(token);
  return size() - 1;
}

const std::string& Vocabulary::token(int32_t id) const {
  require(id >= 0 && id < size(), "vocabulary: no token {}, ids run from 0 to {}", id, size() - 1);
  return tokens_[static_cast<size_t>(id)];
}

std::optional<int32_t> Vocabulary::find(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::string_view Vocabulary::shown(int32_t id) const {
  if (id >= 0 && id < size()) return tokens_[static_cast<size_t>(id)];
  return special_.unk ? std::string_view(tokens_[static_cast<size_t>(*special_.unk)]) : "<UNK>";
}

}  // namespace weft::text
