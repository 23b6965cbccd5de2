#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/base/json.h"
#include "weft/text/text_budget.h"

namespace weft::text {

// The last stage of a pipeline, the way back: rewrites tokens until, joined, they are the text.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // weft::Error where the tokens grow beyond the budget, which is that of them all.
  virtual void decode(std::vector<std::string>& tokens, TextBudget& budget) const = 0;
  // Whether what decode() leaves may not be UTF-8: the bytes of a text that is still to be repaired (utf8.h).
  virtual bool gives_bytes() const { return false; }
};

// The decoder of a tokenizer.json. FormatError, with the place, for one that is not known or not well described.
std::unique_ptr<Decoder> make_decoder(const JsonView& description);

}  // namespace weft::text
