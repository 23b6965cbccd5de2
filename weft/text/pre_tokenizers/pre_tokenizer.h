#pragma once

#include <memory>

#include "weft/base/json.h"
#include "weft/text/pieces.h"

namespace weft::text {

// The second stage of a pipeline: cuts text into the pieces that the model sees one by one, and may rewrite them.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void split(Pieces& pieces) const = 0;
  // Whether split() asks where pieces come from, so that the text must be tracked.
  virtual bool needs_tracking() const { return false; }
};

// The pre-tokenizer of a tokenizer.json. FormatError, with the place, for one that is not known or not well described.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonView& description);

}  // namespace weft::text
