#pragma once

#include "weft/text/normalizers/normalizer.h"

namespace weft::text {

// Writes the visible character of each byte (byte_names.h) of source bytes [begin, end).
void put_visible_bytes(const AlignedText& source, size_t begin, size_t end, TextEdit& edit);

class ByteLevelNormalizer final : public Normalizer {
 public:
  explicit ByteLevelNormalizer(const JsonView& description) { description.allow_only({"type"}); }
  AlignedText normalize(AlignedText text) const override;
};

}  // namespace weft::text
