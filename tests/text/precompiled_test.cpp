#include "weft/text/normalizers/precompiled.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/base/json.h"
#include "weft/base/rng.h"
#include "weft/text/base64.h"
#include "weft/text/unicode.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

Json description() {
  const auto file = std::filesystem::path(WEFT_SOURCE_DIR) / "tests/fixtures/tokenizers/spm-unigram-1k/tokenizer.json";
  const Json document = parse_json(read_file(file), file.string());
  for (const Json& part : document["normalizer"]["normalizers"]) {
    if (part["type"] == "Precompiled") return part;
  }
  return {};
}

size_t count_characters(std::string_view text) { return to_code_points(text).size(); }

// The rule, cluster by cluster over all of the text.
AlignedText normalize_slowly(const CharacterMap& map, const AlignedText& text) {
  std::vector<CharacterChange> changes;
  const auto put = [&](std::string_view part, std::string_view replacement) {
    const auto olds = static_cast<int32_t>(count_characters(part));
    const std::vector<char32_t> news = to_code_points(replacement);
    for (int32_t i = 0; i < static_cast<int32_t>(news.size()); ++i) {
      changes.push_back({news[static_cast<size_t>(i)], i < olds ? 0 : 1});
    }
    const auto missing = olds - static_cast<int32_t>(news.size());
    if (missing > 0 && !changes.empty()) changes.back().change -= missing;
  };
  Graphemes graphemes(text.text());
  for (std::string_view cluster = graphemes.next(); !cluster.empty(); cluster = graphemes.next()) {
    const auto whole = cluster.size() <= 5 ? map.find(cluster) : std::nullopt;
    if (whole) {
      put(cluster, *whole);
      continue;
    }
    for (const char32_t value : to_code_points(cluster)) {
      const std::string character = to_utf8(value);
      put(character, map.find(character).value_or(character));
    }
  }
  return rewrite(text, changes);
}

std::string random_text(const Rng& rng) {
  constexpr std::array<std::string_view, 24> parts = {"a",
                                                      "word ",
                                                      "  ",
                                                      "\t",
                                                      "\u00e9",
                                                      "e\u0301",
                                                      "a\u0301\u0301",
                                                      "\u200b",
                                                      "\u200d",
                                                      "\u00ad",
                                                      "\ufb01",
                                                      "\uff21",
                                                      "\u0600",
                                                      "\u0300",
                                                      "\u1100\u1161\u11a8",
                                                      "\uac00\u11a8",
                                                      "\u3042\u3099",
                                                      "\U0001f468\u200d\U0001f469",
                                                      "\U0001f1e9\U0001f1ea",
                                                      "\u0915\u094d\u0937",
                                                      "\r\n",
                                                      "\u2460",
                                                      "\u00bd",
                                                      "\u0e01\u0e33"};
  std::string text;
  const uint64_t count = rng.below(9, 0);
  for (uint64_t i = 0; i < count; ++i) {
    if (rng.below(4, 3 * i + 1) > 0) {
      text += parts[rng.below(parts.size(), 3 * i + 2)];
    } else {
      const auto value = static_cast<char32_t>(rng.below(rng.below(2, 3 * i + 2) == 0 ? 0x3000 : 0x110000, 3 * i + 3));
      if (value < 0xd800 || value > 0xdfff) append_utf8(value, text);
    }
  }
  return text;
}

TEST(Precompiled, RunsOfPlainCharactersChangeNothing) {
  const Json json = description();
  const PrecompiledNormalizer normalizer(JsonView(json, "test"));
  const CharacterMap map(decode_base64(json["precompiled_charsmap"].get<std::string>()));
  for (uint64_t round = 0; round < 20000; ++round) {
    const std::string text = random_text(Rng{.seed = 9, .stream = 0}.split(round));
    const AlignedText source(text, Tracking::on);
    const AlignedText expected = normalize_slowly(map, source);
    const AlignedText actual = normalizer.normalize(source);
    ASSERT_EQ(actual.text(), expected.text()) << round << ": " << text;
    for (size_t i = 0; i < expected.text().size(); ++i) {
      ASSERT_EQ(actual.origin(i), expected.origin(i)) << round << ": byte " << i << " of " << text;
    }
  }
}

TEST(Precompiled, ReplacementsAreShort) {
  const std::string trie(4, '\0');
  const auto blob = [&](size_t length) { return std::string("\4\0\0\0", 4) + trie + std::string(length, 'r'); };
  EXPECT_NO_THROW(CharacterMap(blob(1024) + std::string(1, '\0') + std::string(1024, 's')));
  EXPECT_THROW(CharacterMap{blob(1025)}, FormatError);
}

}  // namespace
}  // namespace weft::text
