#pragma once

#include "weft/text/normalizers/normalizer.h"
#include "weft/text/unicode.h"

namespace weft::text {

// NFC, NFD, NFKC, NFKD.
class FormNormalizer final : public Normalizer {
 public:
  explicit FormNormalizer(const JsonView& description);
  AlignedText normalize(AlignedText text) const override { return normal_form(text, form_); }

 private:
  NormalForm form_;
};

class LowercaseNormalizer final : public Normalizer {
 public:
  explicit LowercaseNormalizer(const JsonView& description) { description.allow_only({"type"}); }
  AlignedText normalize(AlignedText text) const override;
};

// Takes away marks (category M); NFD before it sets them free.
class StripAccentsNormalizer final : public Normalizer {
 public:
  explicit StripAccentsNormalizer(const JsonView& description) { description.allow_only({"type"}); }
  AlignedText normalize(AlignedText text) const override;
};

// Takes away white space at the ends.
class StripNormalizer final : public Normalizer {
 public:
  explicit StripNormalizer(const JsonView& description);
  AlignedText normalize(AlignedText text) const override;

 private:
  bool left_;
  bool right_;
};

// SentencePiece's rules for machine translation: control characters go, unusual blanks become blanks.
class NmtNormalizer final : public Normalizer {
 public:
  explicit NmtNormalizer(const JsonView& description) { description.allow_only({"type"}); }
  AlignedText normalize(AlignedText text) const override;
};

}  // namespace weft::text
