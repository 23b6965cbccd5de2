#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/e2e/program.h"
#include "tests/support/temporary_folder.h"
#include "weft/base/files.h"
#include "weft/base/json.h"
#include "weft/generate/generation_config.h"
#include "weft/models/model_folder.h"
#include "weft/text/tokenizer_file.h"
#include "weft/text/word.h"

namespace weft::testing {
namespace {

using ::testing::HasSubstr;

// Folders of small models of every architecture, with weights that were drawn, not trained: large enough for their
// answers to differ.
class DecodeTest : public ::testing::Test {
 protected:
  DecodeTest() {
    models::TransformerConfig config = small(23);
    save<models::CausalLM>("gpt", config, text::number_words(20), {.bos_id = 1, .eos_id = 2});
    config.architecture = models::Architecture::encoder_decoder;
    save<models::EncoderDecoder>("translator", config, text::number_words(20), {.bos_id = 1, .eos_id = 2});
    config.architecture = models::Architecture::bert;
    save<models::Bert>("headless", config, text::masked_number_words(20), {.bos_id = 2});
    config.classes = 3;
    save<models::Bert>("bert", config, text::masked_number_words(20), {.bos_id = 2});
  }

  static models::TransformerConfig small(int64_t vocab_size) {
    return {.vocab_size = vocab_size,
            .max_length = 8,
            .d_model = 16,
            .layers = 2,
            .heads = 2,
            .initialisation = nn::Initialisation::normal,
            .initial_deviation = 0.4};
  }

  template <typename Model>
  void save(const std::string& name, models::TransformerConfig config, const text::WordTokenizerConfig& words,
            const generate::GenerationConfig& generation) const {
    config.resolve();
    const models::WithParameters<Model> model(initialise(5), config);
    make_folders(folder_ / name);
    models::save_config(folder_ / name, config);
    models::save_parameters(folder_ / name / "model.safetensors", model.parameters);
    text::save_tokenizer(text::WordTokenizer(words), folder_ / name);
    generate::save_generation_config(folder_ / name, generation);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // The lines of standard output; the call must succeed.
  static std::vector<std::string> lines(const std::string& arguments, const std::string& input = "") {
    const ProgramResult result = run_weft(arguments, input);
    EXPECT_EQ(result.status, 0) << arguments << "\n" << result.err;
    std::istringstream stream(result.out);
    std::vector<std::string> found;
    for (std::string line; std::getline(stream, line);) found.push_back(line);
    return found;
  }

  static std::string error_of(const std::string& arguments, const std::string& input = "") {
    const ProgramResult result = run_weft(arguments, input);
    EXPECT_EQ(result.status, 1) << arguments;
    EXPECT_EQ(result.out, "");
    return result.err;
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(DecodeTest, TranslatesLineByLineInOrder) {
  const std::string translate = "translate " + path("translator");
  const std::vector<std::string> together = lines(translate, "3 4 5\n\n7\n19 0 12 3\n");
  ASSERT_EQ(together.size(), 4u);
  EXPECT_EQ(together[1], "");
  EXPECT_EQ(lines(translate + " --text '3 4 5'"), std::vector<std::string>{together[0]});
  EXPECT_EQ(lines(translate + " --text 7"), std::vector<std::string>{together[2]});
  EXPECT_EQ(lines(translate + " --beam-size 1", "19 0 12 3\n"), std::vector<std::string>{together[3]});
  EXPECT_NE(together[0], together[3]);
  EXPECT_EQ(lines(translate + " --precision bf16 --max-new-tokens 1 --text 7").size(), 1u);
}

TEST_F(DecodeTest, TranslatesWithBeams) {
  const std::string translate = "translate " + path("translator") + " --beam-size 4 --n-best 3 ";
  const std::vector<std::string> all = lines(translate + "--scores", "3 4 5\n7\n");
  ASSERT_EQ(all.size(), 6u);
  EXPECT_GE(std::stod(all[0]), std::stod(all[1]));
  EXPECT_GE(std::stod(all[1]), std::stod(all[2]));
  const std::vector<std::string> objects = lines(translate + "--json", "3 4 5\n7\n");
  ASSERT_EQ(objects.size(), 2u);
  const Json first = parse_json(objects[0], "output");
  EXPECT_EQ(first.at("source"), "3 4 5");
  ASSERT_EQ(first.at("hypotheses").size(), 3u);
  EXPECT_EQ(first.at("text"), first.at("hypotheses").at(0).at("text"));
  EXPECT_EQ(fmt::format("{:.6f}\t{}", first.at("hypotheses").at(2).at("score").get<double>(),
                        first.at("hypotheses").at(2).at("text").get<std::string>()),
            all[2]);
}

TEST_F(DecodeTest, FillsMasks) {
  const std::string fill = "fill-mask " + path("bert") + " --text '3 [MASK] 5 [MASK]' --top-k ";
  const std::vector<std::string> found = lines(fill + "4");
  ASSERT_EQ(found.size(), 8u);
  EXPECT_EQ(found[0].substr(0, 2), "1\t");
  EXPECT_EQ(found[7].substr(0, 2), "2\t");
  const Json object = parse_json(lines(fill + "99 --json").at(0), "output");
  ASSERT_EQ(object.at("masks").size(), 2u);
  EXPECT_EQ(object.at("masks").at(0).at("position"), 2);  // after the first token of the model and "3"
  const Json& predictions = object.at("masks").at(1).at("predictions");
  ASSERT_EQ(predictions.size(), 23u);
  double total = 0.0;
  for (const Json& prediction : predictions) total += prediction.at("probability").get<double>();
  EXPECT_NEAR(total, 1.0, 1e-5);  // 23 float32 probabilities
  EXPECT_GE(predictions.at(0).at("probability"), predictions.at(1).at("probability"));
  EXPECT_THAT(found[4], HasSubstr(predictions.at(0).at("token").get<std::string>()));
}

// Published models round their tables up: rows beyond the tokenizer's tokens are no answers.
TEST_F(DecodeTest, NeverAnswersWithARowThatNoTokenHas) {
  models::TransformerConfig config = small(64);
  save<models::CausalLM>("padded-gpt", config, text::number_words(20), {.bos_id = 1, .eos_id = 2});
  config.architecture = models::Architecture::encoder_decoder;
  save<models::EncoderDecoder>("padded-translator", config, text::number_words(20), {.bos_id = 1, .eos_id = 2});
  config.architecture = models::Architecture::bert;
  config.classes = 3;
  save<models::Bert>("padded-bert", config, text::masked_number_words(20), {.bos_id = 2});
  const Json filled =
      parse_json(lines("fill-mask " + path("padded-bert") + " --text '3 [MASK]' --json --top-k 99").at(0), "output");
  EXPECT_EQ(filled.at("masks").at(0).at("predictions").size(), 23u);
  for (const std::string& call : {"generate " + path("padded-gpt") + " --max-new-tokens 40 --json --prompt 3",
                                  "generate " + path("padded-gpt") + " --beam-size 3 --json --prompt 3",
                                  "translate " + path("padded-translator") + " --beam-size 3 --json --text '3 4'"}) {
    const Json output = parse_json(lines(call).at(0), "output");
    const Json& answer = output.contains("hypotheses") ? output.at("hypotheses").at(0) : output;
    ASSERT_FALSE(answer.at("ids").empty()) << call;
    for (const Json& id : answer.at("ids")) EXPECT_LT(id.get<int>(), 23) << call;
  }
}

TEST_F(DecodeTest, Classifies) {
  const std::string classify = "classify " + path("bert");
  const std::vector<std::string> together = lines(classify, "3 4 5\n7\n");
  ASSERT_EQ(together.size(), 2u);
  EXPECT_EQ(lines(classify + " --text 7"), std::vector<std::string>{together[1]});
  const Json object = parse_json(lines(classify + " --json --text 7").at(0), "output");
  EXPECT_EQ(object.at("probabilities").size(), 3u);
  EXPECT_EQ(object.at("probability"), object.at("probabilities").at(object.at("class").get<size_t>()));
  EXPECT_EQ(fmt::format("{}\t{:.6f}", object.at("class").get<int>(), object.at("probability").get<double>()),
            together[1]);
}

// As a published folder says: [CLS] and [SEP] by the tokenizer's post-processor.
TEST_F(DecodeTest, PutsThePublishedSpecialTokensAroundAText) {
  Json vocabulary = {{"[UNK]", 0}, {"[CLS]", 1}, {"[SEP]", 2}, {"[MASK]", 3}, {"rose", 4}, {"is", 5}};
  while (vocabulary.size() < 23) vocabulary[fmt::format("word{}", vocabulary.size())] = vocabulary.size();
  const Json document = {
      {"added_tokens", {{{"id", 3}, {"content", "[MASK]"}, {"special", true}}}},
      {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
      {"post_processor",
       {{"type", "BertProcessing"}, {"sep", Json::array({"[SEP]", 2})}, {"cls", Json::array({"[CLS]", 1})}}},
      {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "[UNK]"}}}};
  std::filesystem::remove(folder_ / "bert/tokenizer_config.json");
  write_file_atomically(folder_ / "bert/tokenizer.json", format_json(document));
  const auto positions = [&](const std::string& text) {
    Json list = Json::array();
    const std::string found = lines("fill-mask " + path("bert") + " --json --text '" + text + "'").at(0);
    const Json output = parse_json(found, "output");
    for (const Json& mask : output.at("masks")) list.push_back(mask.at("position"));
    return list;
  };
  EXPECT_EQ(positions("[MASK] rose is [MASK]"), Json({1, 4}));
  lines("attention " + path("bert") + " --text 'rose is' --out " + path("maps.json"));
  const Json maps = parse_json(read_file(folder_ / "maps.json"), "maps.json");
  EXPECT_EQ(maps.at("sequences").at("text"), (Json{"[CLS]", "rose", "is", "[SEP]"}));
  EXPECT_THAT(error_of("classify " + path("bert"), "rose\n\n"), HasSubstr("line 2 has no tokens"));
  EXPECT_THAT(error_of("classify " + path("bert") + " --text 'is is is is is is is'"),
              HasSubstr("line 1 has 9 tokens, the model takes 8"));
}

TEST_F(DecodeTest, MapsTheAttentionOfEveryArchitecture) {
  const auto maps = [&](const std::string& arguments) {
    lines("attention " + arguments + " --out " + path("maps.json"));
    return parse_json(read_file(folder_ / "maps.json"), "maps.json");
  };
  const Json bert = maps(path("bert") + " --text '3 4'");
  EXPECT_EQ(bert.at("architecture"), "bert");
  EXPECT_EQ(bert.at("sequences").at("text"), (Json{"[CLS]", "3", "4"}));
  EXPECT_EQ(bert.at("maps").size(), 2u);
  EXPECT_GT(bert.at("maps").at(0).at("weights").at(0).at(0).at(2), 0.0);
  const Json translator = maps(path("translator") + " --text '3 4 5' --target '7 8'");
  EXPECT_EQ(translator.at("sequences").at("source"), (Json{"3", "4", "5"}));
  EXPECT_EQ(translator.at("sequences").at("target"), (Json{"<BOS>", "7", "8"}));
  std::vector<std::string> kinds;
  for (const Json& map : translator.at("maps")) {
    kinds.push_back(map.at("kind").get<std::string>() + " " + map.at("queries").get<std::string>() + " " +
                    map.at("keys").get<std::string>());
  }
  EXPECT_THAT(kinds, ::testing::ElementsAre("bidirectional source source", "bidirectional source source",
                                            "causal target target", "cross target source", "causal target target",
                                            "cross target source"));
  EXPECT_THAT(translator.at("maps").at(3).at("layer").get<std::string>(), HasSubstr("cross_attention"));
  // Without a target the model's own answer stands in for it.
  const std::string answer = lines("translate " + path("translator") + " --json --text '3 4 5'").at(0);
  const Json ids = parse_json(answer, "output").at("hypotheses").at(0).at("ids");
  EXPECT_EQ(maps(path("translator") + " --text '3 4 5'").at("sequences").at("target").size(), ids.size());
}

TEST_F(DecodeTest, NamesTheCommandThatTheModelIsFor) {
  const std::string text = " --text '3 4'";
  EXPECT_THAT(error_of("translate " + path("gpt") + text), HasSubstr("use weft generate"));
  EXPECT_THAT(error_of("fill-mask " + path("translator") + text), HasSubstr("use weft translate"));
  EXPECT_THAT(error_of("classify " + path("gpt") + text), HasSubstr("use weft generate"));
  EXPECT_THAT(error_of("translate " + path("bert") + text), HasSubstr("use weft fill-mask or weft classify"));
  EXPECT_THAT(error_of("generate " + path("bert") + " --prompt 3"), HasSubstr("use weft fill-mask or weft classify"));
  EXPECT_THAT(error_of("classify " + path("headless") + text), HasSubstr("has no class head"));
  EXPECT_THAT(error_of("attention " + path("bert") + text + " --target 3 --out " + path("maps.json")),
              HasSubstr("--target is for encoder_decoder models"));
}

TEST_F(DecodeTest, SaysWhatIsWrongWithALine) {
  EXPECT_THAT(error_of("fill-mask " + path("bert"), "[MASK] 3\n3 4\n"), HasSubstr("line 2 has no [MASK]"));
  EXPECT_THAT(error_of("classify " + path("bert"), "3\n\n"), HasSubstr("line 2 has no tokens"));
  EXPECT_THAT(error_of("classify " + path("bert") + " --text '1 2 3 4 5 6 7 8'"),
              HasSubstr("line 1 has 9 tokens, the model takes 8"));
  EXPECT_THAT(error_of("translate " + path("translator"), "3\n1 2 3 4 5 6 7 8 9\n"),
              HasSubstr("line 2 has 9 tokens, the model takes 8"));
  EXPECT_THAT(error_of("translate " + path("translator") + " --text 77"), HasSubstr("\"77\" is not among"));
  generate::save_generation_config(folder_ / "translator", {});
  EXPECT_THAT(error_of("translate " + path("translator") + " --text 3"), HasSubstr("has no bos_token_id"));
}

}  // namespace
}  // namespace weft::testing
