#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/text/text_budget.h"

namespace weft::text {

// A range of bytes, [begin, end).
struct ByteRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool operator==(const ByteRange&) const = default;
};

enum class Tracking { off, on };

// Text on its way through a pipeline: well-formed UTF-8 and, when tracked, for every byte the range of the original
// text that it comes from. Bytes of one character come from one range.
class AlignedText {
 public:
  AlignedText() = default;
  // `original` as it is; bad bytes become U+FFFD (see utf8.h) that comes from those bytes. weft::Error above 2^31
  // bytes.
  AlignedText(std::string_view original, Tracking tracking);

  const std::string& text() const { return text_; }
  bool is_tracked() const { return tracking_ == Tracking::on; }
  // Where byte `position` comes from; where [begin, end) comes from, from its first byte's begin to its last byte's
  // end. Only of tracked text.
  ByteRange origin(size_t position) const;
  ByteRange origin(size_t begin, size_t end) const;

  AlignedText slice(size_t begin, size_t end) const;
  // What may still be done to this text, shared with all that is made of the same original.
  TextBudget& budget() const { return *budget_; }
  // Replaces each byte by map(byte), with the same origin. For well-formed text where that leaves it so.
  template <typename Map>
  void map_bytes(Map&& map) {
    for (char& byte : text_) byte = map(byte);
  }
  // Adds a text that was made of the same original. weft::Error if it grows too long.
  void append(AlignedText other);

 private:
  friend class TextEdit;

  // Writes the origins of [begin, end) at the end of `origins`.
  void copy_origins(size_t begin, size_t end, std::vector<ByteRange>& origins) const;

  std::string text_;
  std::shared_ptr<TextBudget> budget_;  // null only of a text that was never given one
  Tracking tracking_ = Tracking::off;
  bool verbatim_ = true;  // the original itself, from byte `shift_` on: origins_ is not needed
  uint32_t shift_ = 0;
  std::vector<ByteRange> origins_;  // by byte, of tracked text that is not verbatim
};

// One character of a rewritten text, and how it relates to the source, read from its start on: 0 takes the place of one
// source character, −n of one and the n after it, 1 is added and comes from where the character before it does.
struct CharacterChange {
  char32_t value;
  int32_t change;
};

// Rewrites a text from its start to its end: source bytes are kept or passed over, new ones put between them.
// weft::Error if it grows too long.
class TextEdit {
 public:
  explicit TextEdit(const AlignedText& source);

  // Copies source bytes [begin, end).
  void keep(size_t begin, size_t end);
  // Adds text that comes from where source byte `position` comes from. Of an empty source it comes from nowhere.
  void put(std::string_view bytes, size_t position);
  // Adds text that stands before the first source byte and comes from none.
  void put_at_start(std::string_view bytes);
  // Adds what stands in the place of source bytes from `position`, the start of a character, on.
  void put_changes(std::span<const CharacterChange> changes, size_t position);
  size_t size() const { return result_.text_.size(); }  // bytes so far
  AlignedText finish() { return std::move(result_); }

 private:
  void check_room(size_t bytes) const {
    if (result_.budget_) result_.budget_->allow_size(result_.text_.size() + bytes);
  }

  const AlignedText& source_;
  AlignedText result_;
};

AlignedText rewrite(const AlignedText& source, const std::vector<CharacterChange>& changes);

}  // namespace weft::text
