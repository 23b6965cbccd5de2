#include "weft/text/normalizers/normalizer.h"

#include "weft/text/element.h"
#include "weft/text/normalizers/bert.h"
#include "weft/text/normalizers/byte_level.h"
#include "weft/text/normalizers/characters.h"
#include "weft/text/normalizers/precompiled.h"
#include "weft/text/normalizers/replace.h"

namespace weft::text {

namespace {

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(const JsonView& description) {
    description.allow_only({"type", "normalizers"});
    const JsonView list = description.at("normalizers");
    for (size_t i = 0; i < list.size(); ++i) parts_.push_back(make_normalizer(list.at(i)));
  }
  AlignedText normalize(AlignedText text) const override {
    for (const auto& part : parts_) {
      text.budget().take_time(text.text().size());
      text = part->normalize(std::move(text));
    }
    return text;
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const JsonView& description) {
  static const ElementMakers<Normalizer> makers = {
      {"BertNormalizer", make_element<Normalizer, BertNormalizer>},
      {"ByteLevel", make_element<Normalizer, ByteLevelNormalizer>},
      {"Lowercase", make_element<Normalizer, LowercaseNormalizer>},
      {"NFC", make_element<Normalizer, FormNormalizer>},
      {"NFD", make_element<Normalizer, FormNormalizer>},
      {"NFKC", make_element<Normalizer, FormNormalizer>},
      {"NFKD", make_element<Normalizer, FormNormalizer>},
      {"Nmt", make_element<Normalizer, NmtNormalizer>},
      {"Precompiled", make_element<Normalizer, PrecompiledNormalizer>},
      {"Prepend", make_element<Normalizer, PrependNormalizer>},
      {"Replace", make_element<Normalizer, ReplaceNormalizer>},
      {"Sequence", make_element<Normalizer, NormalizerSequence>},
      {"Strip", make_element<Normalizer, StripNormalizer>},
      {"StripAccents", make_element<Normalizer, StripAccentsNormalizer>},
  };
  return make_by_type(description, "normalizer", makers);
}

}  // namespace weft::text
