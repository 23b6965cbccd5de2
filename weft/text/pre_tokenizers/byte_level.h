#pragma once

#include "weft/text/pre_tokenizers/pre_tokenizer.h"

namespace weft::text {

// GPT-2's: splits by its pattern (split_scanner.h) unless use_regex is off, then writes bytes as visible characters.
class ByteLevelPreTokenizer final : public PreTokenizer {
 public:
  explicit ByteLevelPreTokenizer(const JsonView& description);
  void split(Pieces& pieces) const override;

 private:
  bool add_prefix_space_;
  bool use_regex_;
};

}  // namespace weft::text
