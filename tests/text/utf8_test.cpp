#include "weft/text/utf8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/rng.h"

namespace weft::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string bad = "\xef\xbf\xbd";  // U+FFFD

struct Repair {
  const char* name;
  std::string bytes;
  std::string repaired;
};

class RepairUtf8 : public testing::TestWithParam<Repair> {};

TEST_P(RepairUtf8, ReplacesBadBytes) {
  EXPECT_EQ(repair_utf8(GetParam().bytes), GetParam().repaired);
  // Repaired text is well-formed: nothing is left to repair.
  EXPECT_EQ(repair_utf8(GetParam().repaired), GetParam().repaired);
}

INSTANTIATE_TEST_SUITE_P(
    Table, RepairUtf8,
    testing::Values(Repair{"empty", "", ""}, Repair{"plain", "abc\n", "abc\n"},
                    Repair{"every_length", "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "a\u00e9\u20ac\U0001f600"},
                    Repair{"ends_of_ranges",
                           "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
                           "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
                    Repair{"lone_continuation", "a\x80z", "a" + bad + "z"}, Repair{"ff", "\xff\xfe", bad + bad},
                    Repair{"cut_at_end", "a\xe2\x82", "a" + bad}, Repair{"cut_by_letter", "\xe2\x82z", bad + "z"},
                    Repair{"cut_by_lead", "\xe2\xc3\xa9", bad + "\u00e9"},
                    Repair{"cut_after_three", "\xf0\x9f\x98\xf0\x9f", bad + bad},
                    Repair{"overlong_slash", "\xc0\xaf", bad + bad},
                    Repair{"overlong_three", "\xe0\x80\xaf", bad + bad + bad},
                    Repair{"overlong_four", "\xf0\x80\x80\xaf", bad + bad + bad + bad},
                    Repair{"surrogate", "\xed\xa0\x80", bad + bad + bad},
                    Repair{"above_unicode", "\xf4\x90\x80\x80", bad + bad + bad + bad},
                    Repair{"zero", std::string("\0a", 2), std::string("\0a", 2)}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Utf8, EveryCodePointComesBack) {
  for (char32_t value = 0; value <= 0x10ffff; ++value) {
    if (value >= 0xd800 && value <= 0xdfff) continue;
    const std::string text = to_utf8(value);
    const CodePoint read = first_code_point(text + "x");
    ASSERT_EQ(read.value, value);
    ASSERT_EQ(read.length, text.size());
    ASSERT_FALSE(read.bad);
  }
}

TEST(Utf8, CodePoints) {
  EXPECT_THAT(to_code_points("a\u00e9\xff"), ElementsAre(U'a', U'\u00e9', replacement_character));
  EXPECT_EQ(first_code_point("").length, 0u);
}

TEST(Utf8, WhiteSpaceIsTheUnicodeProperty) {
  for (char32_t value : {U' ', U'\t', U'\n', U'\v', U'\f', U'\r', U'\u0085', U'\u00a0', U'\u1680', U'\u2000', U'\u200a',
                         U'\u2028', U'\u2029', U'\u202f', U'\u205f', U'\u3000'}) {
    EXPECT_TRUE(is_whitespace(value)) << static_cast<uint32_t>(value);
  }
  for (char32_t value : {U'a', U'\0', U'\u001c', U'\u200b', U'\u2060', U'\ufeff', U'\u180e'}) {
    EXPECT_FALSE(is_whitespace(value)) << static_cast<uint32_t>(value);
  }
}

TEST(Utf8, SplitWhitespace) {
  EXPECT_THAT(split_whitespace(" I\u3000am  \n here"), ElementsAre("I", "am", "here"));
  EXPECT_THAT(split_whitespace("one"), ElementsAre("one"));
  EXPECT_THAT(split_whitespace(" \t"), IsEmpty());
  EXPECT_THAT(split_whitespace("a\xff \xc2"), ElementsAre("a\xff", "\xc2"));
}

TEST(Utf8Stream, HoldsBackTheCharacterInTheMaking) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xe2"), "a");
  EXPECT_EQ(stream.push("\x82"), "");
  EXPECT_EQ(stream.push("\xac"
                        "b"),
            "\u20ac"
            "b");
  EXPECT_EQ(stream.push("\xf0\x9f"), "");
  EXPECT_EQ(stream.push("z"), bad + "z");
  EXPECT_EQ(stream.push("\xc3"), "");
  EXPECT_EQ(stream.finish(), bad);
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(stream.push("\xa9"), bad);
}

// Bytes that often are near-characters, cut into random pieces.
TEST(Utf8Stream, PiecesTogetherAreTheRepairedWhole) {
  const std::string alphabet = "a \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xed\xa0\xff\xc0\xf4\x8f";
  for (uint64_t round = 0; round < 3000; ++round) {
    const Rng rng = Rng{.seed = 1, .stream = 0}.split(round);
    std::string bytes;
    for (uint64_t i = 0; i < 40; ++i) bytes += alphabet[rng.below(alphabet.size(), i)];
    Utf8Stream stream;
    std::string streamed;
    for (size_t position = 0, i = 0; position < bytes.size(); ++i) {
      const size_t length = rng.below(4, 100 + i);
      const std::string whole = stream.push(std::string_view(bytes).substr(position, length));
      ASSERT_EQ(repair_utf8(whole), whole);
      streamed += whole;
      position += length;
    }
    ASSERT_EQ(streamed + stream.finish(), repair_utf8(bytes));
  }
}

TEST(Utf8, LengthOfTheAsciiCharactersAtTheStart) {
  for (size_t length = 0; length < 40; ++length) {
    const std::string ascii(length, 'x');
    EXPECT_EQ(ascii_length(ascii), length);
    EXPECT_EQ(ascii_length(ascii + "\u00e9" + ascii), length);
    EXPECT_EQ(is_utf8(ascii + "\u00e9" + ascii), true);
    EXPECT_EQ(is_utf8(ascii + "\xe9" + ascii), false);
  }
}

TEST(Utf8, LastCharacter) {
  for (const char32_t value : {U'a', U'\u00e9', U'\u20ac', U'\U0001f600'}) {
    for (const char* before : {"", "a", "\u00e9"}) {
      const CodePoint last = last_code_point(before + to_utf8(value));
      EXPECT_EQ(last.value, value);
      EXPECT_EQ(last.length, to_utf8(value).size());
    }
  }
}

}  // namespace
}  // namespace weft::text
