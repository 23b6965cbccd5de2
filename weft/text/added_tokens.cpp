#include "weft/text/added_tokens.h"

#include <algorithm>
#include <cstring>

#include "weft/base/error.h"
#include "weft/text/limits.h"
#include "weft/text/unicode.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

constexpr size_t most_bytes = size_t{16} << 20;  // of all tokens together
// How far into a token's content a place of the text may lead at no charge, and what each byte costs that leads
// further. Published tokens are shorter; long ones that nearly match at every place would take the product of both
// lengths.
constexpr size_t free_bytes = 64;
constexpr size_t steps_per_byte = 4;
constexpr uint64_t nanoseconds_per_token = 4096;  // that normalizers may well take

AddedToken read_token(const JsonView& entry) {
  entry.allow_only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  AddedToken token;
  token.id = entry.get<int>("id");
  if (token.id < 0) entry.at("id").expected("an id from 0 on");
  token.content = entry.get<std::string>("content");
  if (token.content.size() > longest_name) {
    entry.at("content").expected(fmt::format("at most {} bytes", longest_name));
  }
  token.shown = token.content;
  token.special = entry.get_or<bool>("special", false);
  token.single_word = entry.get_or<bool>("single_word", false);
  token.lstrip = entry.get_or<bool>("lstrip", false);
  token.rstrip = entry.get_or<bool>("rstrip", false);
  token.normalized = entry.get_or<bool>("normalized", !token.special);
  return token;
}

bool touches_word(std::string_view text, size_t begin, size_t end) {
  const bool before = begin > 0 && is_word_character(last_code_point(text.substr(0, begin)).value);
  return before || (end < text.size() && is_word_character(first_code_point(text.substr(end)).value));
}

// Where the white space that ends at `position` begins, not before `least`.
size_t space_before(std::string_view text, size_t position, size_t least) {
  while (position > least) {
    const CodePoint last = last_code_point(text.substr(0, position));
    if (!is_whitespace(last.value)) break;
    position -= last.length;
  }
  return position;
}

size_t space_behind(std::string_view text, size_t position) {
  while (position < text.size()) {
    const CodePoint next = first_code_point(text.substr(position));
    if (!is_whitespace(next.value)) break;
    position += next.length;
  }
  return position;
}

}  // namespace

void AddedTokens::Finder::add(std::string_view content, int32_t place) {
  if (content.empty()) return;
  uint32_t node = ByteTrie::root;
  for (const char c : content) {
    node = trie.step(node, static_cast<unsigned char>(c));
    if (node == ByteTrie::root) break;
  }
  // Of tokens that normalize to the same text the first is found.
  if (node != ByteTrie::root && trie.value(node) != ByteTrie::none) return;
  trie.add(content, place);
  const auto first = static_cast<unsigned char>(content[0]);
  only_first_byte = is_empty || only_first_byte == first ? std::optional(first) : std::nullopt;
  first_bytes[first] = true;
  is_empty = false;
}

AddedTokens::AddedTokens(const JsonView& list, const TokenModel& model, const Normalizer* normalizer) {
  auto next_id = static_cast<int32_t>(model.vocabulary().size());
  size_t bytes = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    AddedToken token = read_token(list.at(i));
    bytes += token.content.size();
    if (bytes > most_bytes) list.expected(fmt::format("at most {} bytes of content", most_bytes));
    add(std::move(token), model, next_id);
  }
  TextBudget budget(bytes);
  bytes = 0;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    AddedToken& token = tokens_[i];
    if (!token.normalized) {
      raw_.add(token.content, static_cast<int32_t>(i));
      continue;
    }
    AlignedText content(token.content, Tracking::off);
    if (normalizer != nullptr) content = normalizer->normalize(std::move(content));
    token.shown = content.text();
    if (token.shown.size() > longest_name) {
      list.at(i).expected(fmt::format("at most {} bytes after normalization", longest_name));
    }
    bytes += token.shown.size();
    if (bytes > most_bytes) list.expected(fmt::format("at most {} bytes after normalization", most_bytes));
    budget.take_time(nanoseconds_per_token);
    normalized_.add(token.shown, static_cast<int32_t>(i));
  }
}

void AddedTokens::add(AddedToken token, const TokenModel& model, int32_t& next_id) {
  if (token.content.empty() || ids_.contains(token.content)) return;
  const int32_t model_id = model.vocabulary().find_id(token.content);
  if (model_id >= 0) {
    token.id = model_id;
  } else {
    token.id = next_id;
  }
  next_id = std::max(next_id, token.id + 1);
  ids_[token.content] = token.id;
  places_[token.id] = tokens_.size();
  if (token.special) special_.insert(token.content);
  tokens_.push_back(std::move(token));
}

std::optional<int32_t> AddedTokens::find_id(std::string_view content) const {
  const auto found = ids_.find(std::string(content));
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

const AddedToken* AddedTokens::by_id(int32_t id) const {
  const auto found = places_.find(id);
  return found == places_.end() ? nullptr : &tokens_[found->second];
}

size_t AddedTokens::Finder::next_begin(std::string_view text, size_t position) const {
  if (only_first_byte) {
    const void* found = std::memchr(text.data() + position, *only_first_byte, text.size() - position);
    return found == nullptr ? text.size() : static_cast<size_t>(static_cast<const char*>(found) - text.data());
  }
  while (position < text.size() && !first_bytes[static_cast<unsigned char>(text[position])]) ++position;
  return position;
}

// Of the tokens that begin leftmost, the longest; the search goes on behind it even if it does not count as a word.
std::vector<AddedTokens::Found> AddedTokens::search(const Finder& finder, std::string_view text,
                                                    TextBudget& budget) const {
  std::vector<Found> found;
  if (finder.is_empty) return found;
  size_t done = 0;
  size_t space_end = 0;  // of the white space that was looked at last
  for (size_t position = finder.next_begin(text, 0); position < text.size();
       position = finder.next_begin(text, position)) {
    const AddedToken* token = nullptr;
    size_t end = position;
    uint32_t node = ByteTrie::root;
    size_t next = position;
    while (next < text.size()) {
      node = finder.trie.step(node, static_cast<unsigned char>(text[next++]));
      if (node == ByteTrie::root) break;
      if (finder.trie.value(node) == ByteTrie::none) continue;
      token = &tokens_[static_cast<size_t>(finder.trie.value(node))];
      end = next;
    }
    require(next - position <= free_bytes || budget.take_steps(steps_per_byte * (next - position)),
            "tokenizer: the text nearly holds long added tokens at too many places, the last at byte {}", position);
    if (token == nullptr) {
      ++position;
      continue;
    }
    size_t begin = position;
    position = end;
    if (token->single_word && touches_word(text, begin, end)) continue;
    if (token->lstrip) begin = std::max(space_before(text, begin, std::min(begin, done)), done);
    if (token->rstrip) end = space_end = space_behind(text, std::max(end, space_end));
    if (begin >= end) continue;  // a token before it has taken all of it along, as white space
    if (done < begin) found.push_back({done, begin, nullptr});
    found.push_back({begin, end, token});
    done = end;
  }
  if (!found.empty() && done < text.size()) found.push_back({done, text.size(), nullptr});
  return found;
}

Pieces AddedTokens::find(AlignedText text, const Normalizer* normalizer) const {
  Pieces pieces;
  const auto add_normalized = [&](AlignedText part) {
    if (normalizer != nullptr) part = normalizer->normalize(std::move(part));
    const size_t offset = pieces.text.text().size();
    const std::vector<Found> found = search(normalized_, part.text(), part.budget());
    for (const Found& next : found) {
      pieces.list.push_back(
          {offset + next.begin, offset + next.end, next.token == nullptr ? Piece::open : next.token->id});
    }
    if (found.empty() && !part.text().empty()) pieces.list.push_back({offset, offset + part.text().size()});
    pieces.text.append(std::move(part));
  };
  const std::vector<Found> found = search(raw_, text.text(), text.budget());
  if (found.empty()) {
    add_normalized(std::move(text));
    return pieces;
  }
  for (const Found& part : found) {
    AlignedText slice = text.slice(part.begin, part.end);
    if (part.token == nullptr) {
      add_normalized(std::move(slice));
      continue;
    }
    const size_t offset = pieces.text.text().size();
    pieces.list.push_back({offset, offset + slice.text().size(), part.token->id});
    pieces.text.append(std::move(slice));
  }
  return pieces;
}

}  // namespace weft::text
