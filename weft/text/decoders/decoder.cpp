#include "weft/text/decoders/decoder.h"

#include "weft/text/decoders/bytes.h"
#include "weft/text/decoders/pieces.h"
#include "weft/text/decoders/words.h"
#include "weft/text/element.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

constexpr uint64_t nanoseconds_per_token = 32;

class DecoderSequence final : public Decoder {
 public:
  explicit DecoderSequence(const JsonView& description) {
    description.allow_only({"type", "decoders"});
    const JsonView list = description.at("decoders");
    for (size_t i = 0; i < list.size(); ++i) parts_.push_back(make_decoder(list.at(i)));
  }
  void decode(std::vector<std::string>& tokens, TextBudget& budget) const override {
    for (const auto& part : parts_) {
      budget.take_time(nanoseconds_per_token * tokens.size());
      part->decode(tokens, budget);
      if (!part->gives_bytes() || part == parts_.back()) continue;
      for (std::string& token : tokens) token = repair_utf8(token);
    }
  }
  bool gives_bytes() const override { return !parts_.empty() && parts_.back()->gives_bytes(); }

 private:
  std::vector<std::unique_ptr<Decoder>> parts_;
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(const JsonView& description) {
  static const ElementMakers<Decoder> makers = {
      {"BPEDecoder", make_element<Decoder, BpeDecoder>},
      {"ByteFallback", make_element<Decoder, ByteFallbackDecoder>},
      {"ByteLevel", make_element<Decoder, ByteLevelDecoder>},
      {"Fuse", make_element<Decoder, FuseDecoder>},
      {"Metaspace", make_element<Decoder, MetaspaceDecoder>},
      {"Replace", make_element<Decoder, ReplaceDecoder>},
      {"Sequence", make_element<Decoder, DecoderSequence>},
      {"Strip", make_element<Decoder, StripDecoder>},
      {"WordPiece", make_element<Decoder, WordPieceDecoder>},
  };
  return make_by_type(description, "decoder", makers);
}

}  // namespace weft::text
