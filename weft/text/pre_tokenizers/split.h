#pragma once

#include "weft/text/pattern.h"
#include "weft/text/pre_tokenizers/pre_tokenizer.h"

namespace weft::text {

// Splits by a string or a regular expression.
class SplitPreTokenizer final : public PreTokenizer {
 public:
  explicit SplitPreTokenizer(const JsonView& description);
  void split(Pieces& pieces) const override;

 private:
  Pattern pattern_;
  SplitRule rule_;
};

}  // namespace weft::text
