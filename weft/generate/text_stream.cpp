#include "weft/generate/text_stream.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace weft::generate {

namespace {

// A tokenizer's spacing depends on neighbours, special tokens between them left out; this many are always enough
// context.
constexpr ptrdiff_t context_tokens = 8;
constexpr size_t longest_character = 4;  // tokens, of one byte each
constexpr std::string_view unfinished = "\ufffd";

}  // namespace

// What the tokens held add to the text of those before them. Tokens may stand for bytes of one character that are only
// text together: then they are held until it is whole, or can no longer become so.
std::string TextStream::take_held(bool all) {
  const std::string before = tokenizer_->decode_bytes(recent_, special_);
  std::vector<int32_t> ids = recent_;
  ids.insert(ids.end(), held_.begin(), held_.end());
  const std::string after = tokenizer_->decode_bytes(ids, special_);
  if (!all && held_.size() < longest_character && after.ends_with(unfinished)) return {};
  // A token that is not shown is no context either.
  if (after != before) recent_ = std::move(ids);
  held_.clear();
  if (std::ssize(recent_) > context_tokens) recent_.erase(recent_.begin(), recent_.end() - context_tokens);
  const auto same = std::mismatch(before.begin(), before.end(), after.begin(), after.end()).second;
  return std::string(same, after.end());
}

std::string TextStream::bytes_of(int32_t id) {
  held_.push_back(id);
  return take_held(false);
}

void TextStream::skip(std::span<const int32_t> ids) {
  for (const int32_t id : ids) bytes_of(id);
}

std::string TextStream::push(int32_t id) { return characters_.push(bytes_of(id)); }

std::string TextStream::finish() {
  const std::string rest = held_.empty() ? "" : characters_.push(take_held(true));
  return rest + characters_.finish();
}

}  // namespace weft::generate
