#include "weft/text/pre_tokenizers/split.h"

namespace weft::text {

SplitPreTokenizer::SplitPreTokenizer(const JsonView& description)
    : pattern_(description.at("pattern")),
      rule_{read_split_behavior(description.at("behavior")), description.get_or<bool>("invert", false)} {
  description.allow_only({"type", "pattern", "behavior", "invert"});
}

void SplitPreTokenizer::split(Pieces& pieces) const {
  pieces.cut_each([&](std::string_view view, auto&& emit) { pattern_.split(view, rule_, pieces.text.budget(), emit); });
}

}  // namespace weft::text
