#include "weft/text/pre_tokenizers/pre_tokenizer.h"

#include <algorithm>

#include "weft/text/element.h"
#include "weft/text/pre_tokenizers/byte_level.h"
#include "weft/text/pre_tokenizers/characters.h"
#include "weft/text/pre_tokenizers/metaspace.h"
#include "weft/text/pre_tokenizers/split.h"

namespace weft::text {

namespace {

class PreTokenizerSequence final : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(const JsonView& description) {
    description.allow_only({"type", "pretokenizers"});
    const JsonView list = description.at("pretokenizers");
    for (size_t i = 0; i < list.size(); ++i) parts_.push_back(make_pre_tokenizer(list.at(i)));
  }
  void split(Pieces& pieces) const override {
    for (const auto& part : parts_) {
      if (!pieces.list.empty()) pieces.text.budget().take_time(pieces.text.text().size());
      part->split(pieces);
    }
  }
  bool needs_tracking() const override {
    return std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->needs_tracking(); });
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonView& description) {
  static const ElementMakers<PreTokenizer> makers = {
      {"BertPreTokenizer", make_element<PreTokenizer, BertPreTokenizer>},
      {"ByteLevel", make_element<PreTokenizer, ByteLevelPreTokenizer>},
      {"CharDelimiterSplit", make_element<PreTokenizer, CharDelimiterSplit>},
      {"Digits", make_element<PreTokenizer, DigitsPreTokenizer>},
      {"Metaspace", make_element<PreTokenizer, MetaspacePreTokenizer>},
      {"Punctuation", make_element<PreTokenizer, PunctuationPreTokenizer>},
      {"Sequence", make_element<PreTokenizer, PreTokenizerSequence>},
      {"Split", make_element<PreTokenizer, SplitPreTokenizer>},
      {"Whitespace", make_element<PreTokenizer, WhitespacePreTokenizer>},
      {"WhitespaceSplit", make_element<PreTokenizer, WhitespaceSplit>},
  };
  return make_by_type(description, "pre-tokenizer", makers);
}

}  // namespace weft::text
