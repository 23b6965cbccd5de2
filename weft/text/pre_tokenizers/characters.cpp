#include "weft/text/pre_tokenizers/characters.h"

#include "weft/text/unicode.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

// Each character that matches is a part; so is each run of others.
template <typename Matches>
std::vector<Part> parts_by_character(std::string_view view, Matches&& matches) {
  std::vector<Part> parts;
  for (size_t position = 0; position < view.size();) {
    const CodePoint next = first_code_point(view.substr(position));
    const size_t end = position + next.length;
    if (matches(next.value)) {
      parts.push_back({position, end, true});
    } else if (!parts.empty() && !parts.back().is_match) {
      parts.back().end = end;
    } else {
      parts.push_back({position, end, false});
    }
    position = end;
  }
  return parts;
}

template <typename Matches>
void split_by_character(Pieces& pieces, SplitBehavior behavior, Matches&& matches) {
  pieces.cut_each([&](std::string_view view, auto&& emit) {
    for (const Part& part : apply_behavior(parts_by_character(view, matches), behavior)) emit(part.begin, part.end);
  });
}

// Runs of characters of one kind; those of kind `none` go.
enum class Kind { none, word, other, single };

template <typename KindOf>
void split_by_kind(Pieces& pieces, KindOf&& kind_of) {
  pieces.cut_each([&](std::string_view view, auto&& emit) {
    size_t begin = 0;
    Kind kind = Kind::none;
    const auto close = [&](size_t end) {
      if (kind != Kind::none) emit(begin, end);
    };
    for (size_t position = 0; position < view.size();) {
      const CodePoint next = first_code_point(view.substr(position));
      const Kind here = kind_of(next.value);
      if (here != kind || here == Kind::single) {
        close(position);
        begin = position;
        kind = here;
      }
      position += next.length;
    }
    close(view.size());
  });
}

}  // namespace

void WhitespaceSplit::split(Pieces& pieces) const {
  split_by_kind(pieces, [](char32_t value) { return is_whitespace(value) ? Kind::none : Kind::word; });
}

void WhitespacePreTokenizer::split(Pieces& pieces) const {
  split_by_kind(pieces, [](char32_t value) {
    if (is_word_character(value)) return Kind::word;
    return is_whitespace(value) ? Kind::none : Kind::other;
  });
}

void BertPreTokenizer::split(Pieces& pieces) const {
  split_by_kind(pieces, [](char32_t value) {
    if (is_whitespace(value)) return Kind::none;
    return is_punctuation(value) ? Kind::single : Kind::word;
  });
}

PunctuationPreTokenizer::PunctuationPreTokenizer(const JsonView& description) {
  description.allow_only({"type", "behavior"});
  if (description.has("behavior")) behavior_ = read_split_behavior(description.at("behavior"));
}

void PunctuationPreTokenizer::split(Pieces& pieces) const { split_by_character(pieces, behavior_, is_punctuation); }

DigitsPreTokenizer::DigitsPreTokenizer(const JsonView& description) {
  description.allow_only({"type", "individual_digits"});
  const bool single = description.get<bool>("individual_digits");
  behavior_ = single ? SplitBehavior::isolated : SplitBehavior::contiguous;
}

void DigitsPreTokenizer::split(Pieces& pieces) const { split_by_character(pieces, behavior_, is_number); }

CharDelimiterSplit::CharDelimiterSplit(const JsonView& description) {
  description.allow_only({"type", "delimiter"});
  const auto delimiter = description.get<std::string>("delimiter");
  const CodePoint character = first_code_point(delimiter);
  if (delimiter.empty() || character.length != delimiter.size()) description.at("delimiter").expected("one character");
  delimiter_ = character.value;
}

void CharDelimiterSplit::split(Pieces& pieces) const {
  split_by_character(pieces, SplitBehavior::removed, [&](char32_t value) { return value == delimiter_; });
}

}  // namespace weft::text
