#include <filesystem>

#include "tests/fuzz/checks.h"
#include "tests/fuzz/mutation.h"
#include "tests/fuzz/random_text.h"
#include "tests/fuzz/target.h"
#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/text/pipeline_tokenizer.h"
#include "weft/text/tokenizer_file.h"

namespace weft::fuzz {

namespace {

namespace fs = std::filesystem;

constexpr size_t longest_text = 20'000;
constexpr size_t longest_pair = 300;

struct Subject {
  std::string name;
  std::unique_ptr<text::Tokenizer> tokenizer;
  bool exact = false;  // decode(encode(x)) = x
};

// Byte-level BPE over all bytes, without merges or with those of a fixture.
std::unique_ptr<text::Tokenizer> byte_level() {
  const fs::path file = fs::path(WEFT_SOURCE_DIR) / "tests/fixtures/tokenizers/roberta-like/tokenizer.json";
  Json document = parse_json(read_file(file), file.string());
  document["pre_tokenizer"]["add_prefix_space"] = false;
  document["added_tokens"] = Json::array();
  document["normalizer"] = nullptr;
  return std::make_unique<text::PipelineTokenizer>(std::move(document), file.string());
}

std::vector<Subject> subjects() {
  std::vector<Subject> list;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(WEFT_SOURCE_DIR) / "tests/fixtures/tokenizers")) {
    if (fs::exists(entry.path() / "tokenizer.json")) paths.push_back(entry.path() / "tokenizer.json");
    if (fs::exists(entry.path() / "test_model.model")) paths.push_back(entry.path() / "test_model.model");
    if (fs::exists(entry.path() / "vocab.txt")) paths.push_back(entry.path() / "vocab.txt");
  }
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) list.push_back({path.string(), text::load_tokenizer(path)});
  list.push_back({"byte level", byte_level(), true});
  return list;
}

class TextTarget final : public Target {
 public:
  std::vector<std::string> seeds() const override {
    std::vector<std::string> seeds = {"", "a", std::string(5000, 'a'), std::string(300, ' '),
                                      std::string(1000, '\xff')};
    for (uint64_t i = 0; i < 100; ++i) seeds.push_back(RandomText(1, i, BadBytes::yes).make());
    return seeds;
  }

  std::string mutate(const std::string& input, const std::string& other, Dice& dice) const override {
    if (dice.one_in(3)) return RandomText(2, dice.below(uint64_t{1} << 40), BadBytes::yes).make();
    return mutate_bytes(input, other, dice, longest_text);
  }

  void run(std::string_view input) const override {
    for (const Subject& subject : subjects_) {
      try {
        check(subject, input);
      } catch (const Finding& finding) {
        throw Finding(subject.name + ": " + finding.what());
      }
    }
  }

 private:
  static void check(const Subject& subject, std::string_view input) {
    const auto& tokenizer = dynamic_cast<const text::EncodingTokenizer&>(*subject.tokenizer);
    try {
      const text::Encoding encoding = tokenizer.encode({input}, {.special_tokens = text::AddSpecialTokens::no});
      check_encoding(tokenizer, encoding, input, Order::rising);
      const std::vector<int32_t> ids = tokenizer.encode(input);
      if (ids != encoding.ids) throw Finding("ids that differ from those with details");
      const std::string decoded = tokenizer.decode(ids);
      if (!text::is_utf8(decoded)) throw Finding("decoded text that is not UTF-8");
      if (subject.exact && decoded != text::repair_utf8(input)) throw Finding("a text that does not come back");
      if (input.size() > longest_pair) return;  // every window of one text goes with every one of the other
      const text::Truncation truncation{.max_length = 16, .stride = 2};
      tokenizer.encode({input, input.substr(input.size() / 2)}, {.truncation = truncation});
      const text::EncodeOptions options{.special_tokens = text::AddSpecialTokens::no, .truncation = truncation};
      if (tokenizer.encode({input}, options).size() > 16) throw Finding("more tokens than truncation allows");
    } catch (const Error&) {  // text that a vocabulary without an unknown token has nothing for
      if (subject.exact) throw;
    }
  }

  std::vector<Subject> subjects_ = subjects();
};

}  // namespace

std::unique_ptr<Target> text_target() { return std::make_unique<TextTarget>(); }

}  // namespace weft::fuzz
