#pragma once

#include "weft/text/normalizers/normalizer.h"

namespace weft::text {

// BERT's cleaning (Devlin et al. 2018): control characters go, white space becomes blanks, blanks around ideographs,
// accents away (NFD without Mn; by default where it lower-cases), lower case character by character.
class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const JsonView& description);
  AlignedText normalize(AlignedText text) const override;

 private:
  bool clean_;
  bool ideographs_;
  bool strip_accents_;
  bool lowercase_;
};

}  // namespace weft::text
