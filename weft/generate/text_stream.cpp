#include "weft/generate/text_stream.h"

namespace weft::generate {

namespace {

// A tokenizer's spacing depends on neighbours, special tokens between them left out; this many are always enough
// context.
constexpr size_t context_tokens = 8;

}  // namespace

std::string TextStream::bytes_of(int32_t id) {
  const std::string before = tokenizer_->decode_bytes(recent_, special_);
  recent_.push_back(id);
  const std::string after = tokenizer_->decode_bytes(recent_, special_);
  // A token that is not shown is no context either.
  if (after.size() == before.size()) recent_.pop_back();
  if (recent_.size() > context_tokens) recent_.erase(recent_.begin());
  return after.substr(before.size());
}

void TextStream::skip(std::span<const int32_t> ids) {
  for (const int32_t id : ids) bytes_of(id);
}

std::string TextStream::push(int32_t id) { return characters_.push(bytes_of(id)); }

std::string TextStream::finish() { return characters_.finish(); }

}  // namespace weft::generate
