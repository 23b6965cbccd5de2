#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/text/post_processors/post_processor.h"

namespace weft::text {

// Special tokens, or one of the texts, and the type of their tokens.
struct TemplatePiece {
  int sequence = -1;  // 0 or 1: that text; −1: the special tokens
  int32_t type_id = 0;
  std::vector<int32_t> ids;
  std::vector<std::string> tokens;
};

// The order of texts and special tokens, for one text and for two.
class TemplateProcessing final : public PostProcessor {
 public:
  explicit TemplateProcessing(const JsonView& description);
  TemplateProcessing(std::vector<TemplatePiece> single, std::vector<TemplatePiece> pair)
      : single_(std::move(single)), pair_(std::move(pair)) {}
  int64_t added_tokens(bool pair) const override;
  bool arranges() const override { return true; }
  void process(std::vector<EncodedPart>& parts, AddSpecialTokens special) const override;

 private:
  std::vector<TemplatePiece> single_;
  std::vector<TemplatePiece> pair_;
};

// A token with its id, as `["[SEP]", 102]`.
TemplatePiece read_special_token(const JsonView& token);

// [CLS] A [SEP] B [SEP], types 0 and 1.
std::unique_ptr<PostProcessor> make_bert_processing(const JsonView& description);

}  // namespace weft::text
