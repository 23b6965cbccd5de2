#pragma once

#include <memory>

#include "weft/base/json.h"
#include "weft/text/aligned_text.h"

namespace weft::text {

// The first stage of a pipeline: text to the form that the vocabulary was made from.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual AlignedText normalize(AlignedText text) const = 0;
};

// The normalizer of a tokenizer.json. FormatError, with the place, for one that is not known or not well described.
std::unique_ptr<Normalizer> make_normalizer(const JsonView& description);

}  // namespace weft::text
