#include "weft/text/normalizers/replace.h"

namespace weft::text {

AlignedText replace_matches(const AlignedText& source, const std::vector<Part>& parts, std::string_view content) {
  TextEdit edit(source);
  for (const Part& part : parts) {
    if (!part.is_match) {
      edit.keep(part.begin, part.end);
    } else if (part.end == 0) {
      edit.put_at_start(content);
    } else {
      edit.put(content, part.end - 1);
    }
  }
  return edit.finish();
}

ReplaceNormalizer::ReplaceNormalizer(const JsonView& description)
    : pattern_(description.at("pattern")), content_(description.get<std::string>("content")) {
  description.allow_only({"type", "pattern", "content"});
}

AlignedText ReplaceNormalizer::normalize(AlignedText text) const {
  if (!pattern_.occurs_in(text.text(), text.budget())) return text;
  return replace_matches(text, pattern_.parts(text.text(), text.budget()), content_);
}

PrependNormalizer::PrependNormalizer(const JsonView& description) : prefix_(description.get<std::string>("prepend")) {
  description.allow_only({"type", "prepend"});
}

AlignedText PrependNormalizer::normalize(AlignedText text) const {
  if (text.text().empty()) return text;
  TextEdit edit(text);
  edit.put(prefix_, 0);
  edit.keep(0, text.text().size());
  return edit.finish();
}

}  // namespace weft::text
