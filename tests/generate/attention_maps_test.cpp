#include "weft/generate/attention_maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "weft/base/error.h"
#include "weft/base/files.h"

namespace weft::generate {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

AttentionMaps example() {
  const std::vector<float> causal = {1.0f, 0.0f, 0.25f, 0.75f, 1.0f, 0.0f, 0.123456789f, 0.876543211f};
  const std::vector<float> cross = {0.2f, 0.3f, 0.5f, 1.0f / 3, 1.0f / 3, 1.0f / 3};
  return {.model = "run",
          .architecture = "example",
          .sequences = {{"source", {"a", "</script>", "c"}}, {"target", {"x", "\xff"}}},
          .maps = {{"decoder.0", "causal", "target", "target", Tensor::from<float>(causal, {2, 2, 2})},
                   {"cross.0", "cross", "target", "source", Tensor::from<float>(cross, {1, 2, 3})}}};
}

TEST(AttentionMaps, JsonHasEveryWeight) {
  const testing_support::TemporaryFolder folder;
  write_attention_json(folder / "maps.json", example());
  const Json json = parse_json(read_file(folder / "maps.json"), "maps.json");
  EXPECT_EQ(json.at("model"), "run");
  EXPECT_EQ(json.at("sequences").at("source"), (Json{"a", "</script>", "c"}));
  EXPECT_EQ(json.at("sequences").at("target").at(1), "\uFFFD");
  const Json& causal = json.at("maps").at(0);
  EXPECT_EQ(causal.at("kind"), "causal");
  EXPECT_EQ(causal.at("heads"), 2);
  EXPECT_EQ(causal.at("weights").at(0), (Json{{1, 0}, {0.25, 0.75}}));
  EXPECT_EQ(causal.at("weights").at(1).at(1), (Json{0.12346, 0.87654}));
  EXPECT_EQ(json.at("maps").at(1).at("weights"), (Json::array({Json{{0.2, 0.3, 0.5}, {0.33333, 0.33333, 0.33333}}})));
}

TEST(AttentionMaps, ThePageHasThemPacked) {
  const testing_support::TemporaryFolder folder;
  write_attention_page(folder / "maps.html", example());
  const std::string page = read_file(folder / "maps.html");
  // Little-endian 16-bit fractions: 1; 0.25, 0.75; 1; 0.1235, 0.8765. The key after the query's place is left out.
  EXPECT_THAT(page, HasSubstr(R"("causal":true,"packed":"//8AQP+///+bH2Tg")"));
  EXPECT_THAT(page, HasSubstr(R"("causal":false,"packed":"MzPNTACAVVVVVVVV")"));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>"));
  for (const char* request : {"src=", "href=", "url("}) EXPECT_THAT(page, ::testing::Not(HasSubstr(request)));
}

TEST(AttentionMaps, RefusesMapsThatDoNotFitTheirTokens) {
  const testing_support::TemporaryFolder folder;
  AttentionMaps maps = example();
  maps.sequences[1].second.push_back("y");
  EXPECT_THAT([&] { write_attention_json(folder / "maps.json", maps); },
              ThrowsMessage<Error>(HasSubstr("decoder.0 has weights (2, 2, 2), expected (heads, 3, 3)")));
  maps.sequences[1].first = "other";
  EXPECT_THAT([&] { write_attention_page(folder / "maps.html", maps); },
              ThrowsMessage<Error>(HasSubstr("there is no sequence \"target\"")));
  maps.maps.clear();
  EXPECT_THAT([&] { write_attention_page(folder / "maps.html", maps); },
              ThrowsMessage<Error>(HasSubstr("there are none")));
  EXPECT_EQ(folder.count(), 0u);
}

}  // namespace
}  // namespace weft::generate
