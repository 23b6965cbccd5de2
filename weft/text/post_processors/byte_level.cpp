#include "weft/text/post_processors/byte_level.h"

#include <algorithm>

#include "weft/text/byte_names.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

bool is_blank(char32_t value) { return value == visible_byte(' ') || is_whitespace(value); }

// `count` characters of the text on from `position`, and back.
uint32_t forward(std::string_view text, uint32_t position, size_t count) {
  for (; count > 0 && position < text.size(); --count) {
    position += static_cast<uint32_t>(first_code_point(text.substr(position)).length);
  }
  return position;
}

uint32_t backward(std::string_view text, uint32_t position, size_t count) {
  for (; count > 0 && position > 0; --count) {
    --position;
    while (position > 0 && (static_cast<unsigned char>(text[position]) & 0xc0u) == 0x80u) --position;
  }
  return position;
}

// A single blank before the first token is what a prefix added: it is not in the text, so it is not taken out.
ByteRange trimmed(std::string_view token, ByteRange range, std::string_view text, bool keep_first) {
  const std::vector<char32_t> characters = to_code_points(token);
  const auto not_blank = [](char32_t value) { return !is_blank(value); };
  const auto first = std::find_if(characters.begin(), characters.end(), not_blank);
  const auto last = std::find_if(characters.rbegin(), characters.rend(), not_blank);
  auto leading = static_cast<size_t>(first - characters.begin());
  const auto trailing = static_cast<size_t>(last - characters.rbegin());
  if (leading == 1 && keep_first) leading = 0;
  if (leading > 0) range.begin = std::min(forward(text, range.begin, leading), range.end);
  if (trailing > 0) range.end = std::max(backward(text, range.end, trailing), range.begin);
  return range;
}

void trim_offsets(Encoding& encoding, std::string_view text, bool add_prefix_space) {
  for (size_t i = 0; i < encoding.tokens.size(); ++i) {
    const bool first = i == 0 || encoding.offsets[i].begin == 0;
    encoding.offsets[i] = trimmed(encoding.tokens[i], encoding.offsets[i], text, first && add_prefix_space);
  }
  for (Encoding& window : encoding.overflowing) trim_offsets(window, text, add_prefix_space);
}

void trim_all(std::vector<EncodedPart>& parts, bool add_prefix_space) {
  for (EncodedPart& part : parts) trim_offsets(part.encoding, part.text, add_prefix_space);
}

TemplateProcessing roberta_template(const JsonView& description) {
  const TemplatePiece cls = read_special_token(description.at("cls"));
  const TemplatePiece sep = read_special_token(description.at("sep"));
  const TemplatePiece first{.sequence = 0, .type_id = 0, .ids = {}, .tokens = {}};
  const TemplatePiece second{.sequence = 1, .type_id = 0, .ids = {}, .tokens = {}};
  return {{cls, first, sep}, {cls, first, sep, sep, second, sep}};
}

}  // namespace

ByteLevelPostProcessor::ByteLevelPostProcessor(const JsonView& description) {
  description.allow_only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  trim_offsets_ = description.get<bool>("trim_offsets");
  add_prefix_space_ = description.get<bool>("add_prefix_space");
}

void ByteLevelPostProcessor::process(std::vector<EncodedPart>& parts, AddSpecialTokens) const {
  if (trim_offsets_) trim_all(parts, add_prefix_space_);
}

RobertaProcessing::RobertaProcessing(const JsonView& description)
    : template_(roberta_template(description)),
      trim_offsets_(description.get_or<bool>("trim_offsets", true)),
      add_prefix_space_(description.get_or<bool>("add_prefix_space", true)) {
  description.allow_only({"type", "sep", "cls", "trim_offsets", "add_prefix_space"});
}

void RobertaProcessing::process(std::vector<EncodedPart>& parts, AddSpecialTokens special) const {
  if (trim_offsets_) trim_all(parts, add_prefix_space_);
  for (EncodedPart& part : parts) {
    for (Encoding& window : part.encoding.overflowing) std::ranges::fill(window.type_ids, 0);
  }
  template_.process(parts, special);
}

}  // namespace weft::text
