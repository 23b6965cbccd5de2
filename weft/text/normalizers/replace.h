#pragma once

#include <string>

#include "weft/text/normalizers/normalizer.h"
#include "weft/text/pattern.h"

namespace weft::text {

// Puts `content` in the place of every match; it comes from where the match's last byte does.
AlignedText replace_matches(const AlignedText& source, const std::vector<Part>& parts, std::string_view content);

class ReplaceNormalizer final : public Normalizer {
 public:
  explicit ReplaceNormalizer(const JsonView& description);
  AlignedText normalize(AlignedText text) const override;

 private:
  Pattern pattern_;
  std::string content_;
};

class PrependNormalizer final : public Normalizer {
 public:
  explicit PrependNormalizer(const JsonView& description);
  AlignedText normalize(AlignedText text) const override;

 private:
  std::string prefix_;
};

}  // namespace weft::text
