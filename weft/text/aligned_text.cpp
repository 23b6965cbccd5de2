#include "weft/text/aligned_text.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80u; }

size_t character_begin(std::string_view text, size_t position) {
  while (position > 0 && continues(text[position])) --position;
  return position;
}

size_t character_end(std::string_view text, size_t position) {
  ++position;
  while (position < text.size() && continues(text[position])) ++position;
  return position;
}

}  // namespace

AlignedText::AlignedText(std::string_view original, Tracking tracking)
    : budget_(std::make_shared<TextBudget>(original.size())), tracking_(tracking) {
  require(original.size() < (size_t{1} << 31), "tokenizer: expected a text of less than 2^31 bytes, got {}; cut it",
          original.size());
  if (is_utf8(original)) {
    text_ = original;
    return;
  }
  verbatim_ = false;
  size_t position = 0;
  while (position < original.size()) {
    const CodePoint next = first_code_point(original.substr(position));
    append_utf8(next.value, text_);
    const auto begin = static_cast<uint32_t>(position);
    position += next.length;
    if (is_tracked()) origins_.resize(text_.size(), {begin, static_cast<uint32_t>(position)});
  }
}

ByteRange AlignedText::origin(size_t position) const {
  if (text_.empty()) return {shift_, shift_};
  position = std::min(position, text_.size() - 1);
  if (!verbatim_) return origins_[position];
  return {shift_ + static_cast<uint32_t>(character_begin(text_, position)),
          shift_ + static_cast<uint32_t>(character_end(text_, position))};
}

ByteRange AlignedText::origin(size_t begin, size_t end) const {
  const ByteRange first = origin(begin);
  return end <= begin ? ByteRange{first.begin, first.begin} : ByteRange{first.begin, origin(end - 1).end};
}

void AlignedText::copy_origins(size_t begin, size_t end, std::vector<ByteRange>& origins) const {
  if (!verbatim_) {
    origins.insert(origins.end(), origins_.begin() + static_cast<ptrdiff_t>(begin),
                   origins_.begin() + static_cast<ptrdiff_t>(end));
    return;
  }
  for (size_t position = begin; position < end;) {
    if (static_cast<unsigned char>(text_[position]) < 0x80) {
      const auto place = static_cast<uint32_t>(shift_ + position++);
      origins.push_back({place, place + 1});
      continue;
    }
    const ByteRange range = origin(position);
    const size_t next = std::min(end, static_cast<size_t>(range.end - shift_));
    origins.insert(origins.end(), next - position, range);
    position = next;
  }
}

AlignedText AlignedText::slice(size_t begin, size_t end) const {
  AlignedText part;
  part.text_ = text_.substr(begin, end - begin);
  part.budget_ = budget_;
  part.tracking_ = tracking_;
  part.verbatim_ = verbatim_;
  if (!is_tracked()) return part;
  if (verbatim_) {
    part.shift_ = shift_ + static_cast<uint32_t>(begin);
  } else {
    copy_origins(begin, end, part.origins_);
  }
  return part;
}

void AlignedText::append(AlignedText other) {
  if (text_.empty()) {
    *this = std::move(other);
    return;
  }
  if (budget_) budget_->allow_size(text_.size() + other.text_.size());
  if (is_tracked()) {
    const bool follows = verbatim_ && other.verbatim_ && other.shift_ == shift_ + text_.size();
    if (verbatim_ && !follows) {
      copy_origins(0, text_.size(), origins_);
      verbatim_ = false;
    }
    if (!follows) other.copy_origins(0, other.text_.size(), origins_);
  }
  text_ += other.text_;
}

TextEdit::TextEdit(const AlignedText& source) : source_(source) {
  result_.budget_ = source.budget_;
  result_.tracking_ = source.tracking_;
  result_.verbatim_ = false;
  result_.text_.reserve(source.text_.size() + source.text_.size() / 2);
  if (source.is_tracked()) result_.origins_.reserve(result_.text_.capacity());
}

void TextEdit::keep(size_t begin, size_t end) {
  if (begin >= end) return;
  result_.text_.append(source_.text_, begin, end - begin);
  if (source_.is_tracked()) source_.copy_origins(begin, end, result_.origins_);
}

void TextEdit::put(std::string_view bytes, size_t position) {
  check_room(bytes.size());
  result_.text_ += bytes;
  if (source_.is_tracked()) result_.origins_.resize(result_.text_.size(), source_.origin(position));
}

void TextEdit::put_at_start(std::string_view bytes) {
  check_room(bytes.size());
  result_.text_ += bytes;
  if (!source_.is_tracked()) return;
  const uint32_t begin = source_.origin(0).begin;
  result_.origins_.resize(result_.text_.size(), {begin, begin});
}

void TextEdit::put_changes(std::span<const CharacterChange> changes, size_t position) {
  const std::string_view text = source_.text_;
  for (const CharacterChange& next : changes) {
    char bytes[4];
    const std::string_view character = write_utf8(next.value, bytes);
    if (next.change <= 0) {
      put(character, position);
    } else if (position == 0) {
      put_at_start(character);
    } else {
      put(character, position - 1);
    }
    for (int32_t passed = next.change; passed <= 0 && position < text.size(); ++passed) {
      position = character_end(text, position);
    }
  }
}

AlignedText rewrite(const AlignedText& source, const std::vector<CharacterChange>& changes) {
  TextEdit edit(source);
  edit.put_changes(changes, 0);
  return edit.finish();
}

}  // namespace weft::text
