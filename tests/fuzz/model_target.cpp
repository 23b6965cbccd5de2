#include <filesystem>

#include "tests/fuzz/checks.h"
#include "tests/fuzz/mutation.h"
#include "tests/fuzz/sentence_piece_files.h"
#include "tests/fuzz/target.h"
#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/text/forms/sentence_piece.h"

namespace weft::fuzz {

namespace {

constexpr size_t longest_model = 400'000;

class ModelTarget final : public Target {
 public:
  std::vector<std::string> seeds() const override { return small_models(); }

  std::string mutate(const std::string& input, const std::string& other, Dice& dice) const override {
    if (dice.one_in(3)) return mutate_bytes(input, other, dice, longest_model);
    return mutate_message(input, other, dice, longest_model);
  }

  void run(std::string_view input) const override {
    const text::SentencePieceTokenizer tokenizer(text::SentencePieceModel(input, "fuzz"), std::string(input), {});
    const std::vector<std::string> texts = {"",
                                            "a",
                                            "Hello world, this is  a test\u2581.\n",
                                            "\u00e9\u0301\u4e2d\u6587\uff21 \U0001f468\u200d\U0001f469",
                                            "\xff\xe2\x82 \xed\xa0\x80",
                                            std::string(500, 'e')};
    for (const std::string& text : texts) {
      try {
        check_encoding(tokenizer, tokenizer.encode({text}, {}), text, Order::any);
        tokenizer.decode(tokenizer.encode(text));
      } catch (const Error&) {
      }
    }
    std::vector<int32_t> ids;
    for (int32_t id = -1; id < std::min(tokenizer.vocab_size(), 300) + 1; ++id) ids.push_back(id);
    tokenizer.decode(ids, text::SpecialTokens::skip);
    tokenizer.find("a");
  }
};

}  // namespace

std::unique_ptr<Target> model_target() { return std::make_unique<ModelTarget>(); }

}  // namespace weft::fuzz
