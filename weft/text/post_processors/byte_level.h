#pragma once

#include "weft/text/post_processors/post_processor.h"
#include "weft/text/post_processors/template.h"

namespace weft::text {

// Takes the blanks at a byte-level token's ends out of its offsets, if trim_offsets says so. Adds no tokens.
class ByteLevelPostProcessor final : public PostProcessor {
 public:
  explicit ByteLevelPostProcessor(const JsonView& description);
  int64_t added_tokens(bool) const override { return 0; }
  bool arranges() const override { return false; }
  void process(std::vector<EncodedPart>& parts, AddSpecialTokens special) const override;

 private:
  bool trim_offsets_;
  bool add_prefix_space_;
};

// RoBERTa's: <s> A </s> </s> B </s>, all of type 0 (Liu et al. 2019); offsets as ByteLevelPostProcessor.
class RobertaProcessing final : public PostProcessor {
 public:
  explicit RobertaProcessing(const JsonView& description);
  int64_t added_tokens(bool pair) const override { return template_.added_tokens(pair); }
  bool arranges() const override { return true; }
  void process(std::vector<EncodedPart>& parts, AddSpecialTokens special) const override;

 private:
  TemplateProcessing template_;
  bool trim_offsets_;
  bool add_prefix_space_;
};

}  // namespace weft::text
