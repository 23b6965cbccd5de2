#include "weft/text/post_processors/post_processor.h"

#include "weft/text/element.h"
#include "weft/text/post_processors/byte_level.h"
#include "weft/text/post_processors/template.h"

namespace weft::text {

namespace {

class PostProcessorSequence final : public PostProcessor {
 public:
  explicit PostProcessorSequence(const JsonView& description) {
    description.allow_only({"type", "processors"});
    const JsonView list = description.at("processors");
    int arranging = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      parts_.push_back(make_post_processor(list.at(i)));
      arranging += parts_.back()->arranges() ? 1 : 0;
    }
    arranges_ = arranging > 0;
    if (arranging > 1) list.expected("at most one that puts the texts in their order");
  }
  int64_t added_tokens(bool pair) const override {
    int64_t count = 0;
    for (const auto& part : parts_) count += part->added_tokens(pair);
    return count;
  }
  bool arranges() const override { return arranges_; }
  void process(std::vector<EncodedPart>& parts, AddSpecialTokens special) const override {
    for (const auto& part : parts_) part->process(parts, special);
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> parts_;
  bool arranges_ = false;
};

}  // namespace

std::unique_ptr<PostProcessor> make_post_processor(const JsonView& description) {
  static const ElementMakers<PostProcessor> makers = {
      {"BertProcessing", make_bert_processing},
      {"ByteLevel", make_element<PostProcessor, ByteLevelPostProcessor>},
      {"RobertaProcessing", make_element<PostProcessor, RobertaProcessing>},
      {"Sequence", make_element<PostProcessor, PostProcessorSequence>},
      {"TemplateProcessing", make_element<PostProcessor, TemplateProcessing>},
  };
  return make_by_type(description, "post-processor", makers);
}

}  // namespace weft::text
