#include <array>

#include "tests/fuzz/checks.h"
#include "tests/fuzz/documents.h"
#include "tests/fuzz/mutation.h"
#include "tests/fuzz/target.h"
#include "weft/base/error.h"
#include "weft/text/pipeline_tokenizer.h"
#include "weft/text/tokenizer_layout.h"

namespace weft::fuzz {

namespace {

constexpr size_t longest_document = 200'000;
constexpr size_t most_decoded = 5'000;  // more comes of padding only

std::vector<std::string> texts() {
  return {"",
          "a",
          "ab  aab, the b\u00e9\u0301 \u2581a<0x41>\n\t\r\n12 don't",
          "\U0001f468\u200d\U0001f469 \u4e2d\u6587 \xff\xe2\x82 [CLS] <s> \u0130 \uac00\u0000",
          std::string(300, 'a'),
          std::string(100, 'a') + "!"};
}

void use(const text::PipelineTokenizer& tokenizer) {
  for (const std::string& text : texts()) {
    const auto attempt = [&](const text::TextPair& pair, const text::EncodeOptions& options) {
      try {
        const text::Encoding encoding = tokenizer.encode(pair, options);
        if (!pair.pair) check_encoding(tokenizer, encoding, text, Order::any);
        if (encoding.size() < most_decoded) tokenizer.decode(encoding.ids);
      } catch (const Error&) {  // a pattern that gives up, a text without a token for it
      }
    };
    attempt({text}, {});
    attempt({text, "b a"}, {});
    attempt({text, text}, tokenizer.default_options());
    attempt({text}, {.truncation = text::Truncation{.max_length = 4, .stride = 1}});
    try {
      const std::vector<int32_t> ids = tokenizer.encode(text);
      tokenizer.decode(ids, text::SpecialTokens::skip);
    } catch (const Error&) {
    }
  }
}

class TokenizerJsonTarget final : public Target {
 public:
  std::vector<std::string> seeds() const override {
    std::vector<std::string> seeds;
    for (const Json& document : documents_) seeds.push_back(document.dump());
    return seeds;
  }

  std::string mutate(const std::string& input, const std::string& other, Dice& dice) const override {
    const Json document = dice.one_in(6) ? Json() : Json::parse(input, nullptr, false);
    if (!document.is_object()) return mutate_bytes(input, other, dice, longest_document);
    std::string text = mutate_document(document, documents_, dice).dump(-1, ' ', false, Json::error_handler_t::replace);
    return text.size() > longest_document ? input : text;
  }

  void run(std::string_view input) const override {
    const Json document = parse_json(input, "fuzz");
    try {
      const auto own = text::load_own_tokenizer(JsonView(document, "fuzz"), {});
      for (const std::string& text : texts()) own->decode(own->encode(text));
    } catch (const Error&) {
    }
    const text::PipelineTokenizer tokenizer(document, "fuzz");
    use(tokenizer);
    const Json again = tokenizer.document();
    if (text::PipelineTokenizer(again, "again").document() != again) {
      throw Finding("a document that changes when it is written and read again");
    }
  }

 private:
  std::vector<Json> documents_ = small_documents();
};

}  // namespace

std::unique_ptr<Target> tokenizer_json_target() { return std::make_unique<TokenizerJsonTarget>(); }

}  // namespace weft::fuzz
