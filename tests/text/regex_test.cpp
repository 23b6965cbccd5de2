#include "weft/text/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.h"

namespace weft::text {
namespace {

using testing::HasSubstr;
using testing_support::message_of;

struct RegexCase {
  const char* name;
  const char* pattern;
  std::string text;
  std::vector<std::string> matches;
};

class RegexSyntax : public testing::TestWithParam<RegexCase> {};

TEST_P(RegexSyntax, FindsWhatOnigurumaFinds) {
  const Regex regex(GetParam().pattern);
  TextBudget budget(GetParam().text.size());
  Regex::Search search(regex, GetParam().text, budget);
  std::vector<std::string> matches;
  while (const auto match = search.next())
    matches.push_back(GetParam().text.substr(match->begin, match->end - match->begin));
  EXPECT_EQ(matches, GetParam().matches);
}

INSTANTIATE_TEST_SUITE_P(
    Table, RegexSyntax,
    testing::Values(RegexCase{"space_has_nel_not_vowel_separator", R"(\s)", "a\u0085b\u180ec\ufeff", {"\u0085"}},
                    RegexCase{"not_space", R"([^\S\n]+)", "a \t\nb", {" \t"}},
                    RegexCase{"nested_class", R"( ?[^(\s|[.,!])]+)", "go on, (x)", {"go", " on", "x"}},
                    RegexCase{"intersection", R"([a-z&&[^aeiou]]+)", "hello", {"h", "ll"}},
                    RegexCase{"hexadecimal", R"(\h+)", "xbeefy", {"beef"}},
                    RegexCase{"dot_all", R"((?m:a.b))", "a\nb", {"a\nb"}},
                    RegexCase{"lines", R"(^\w|\w$)", "ab\ncd", {"a", "b", "c", "d"}},
                    RegexCase{"interval_from_nothing", R"(x{,2}y)", "xxxy", {"xxy"}},
                    RegexCase{"interval_then_plus", R"((?:ab){2}+)", "abababab", {"abababab"}},
                    RegexCase{"empty_matches", "x*", "axb", {"", "x", ""}},
                    RegexCase{"word_boundary", R"(\b)", "\u00e9 a", {"", "", "", ""}},
                    RegexCase{"script_without_its_extensions",
                              R"(\p{Han}+)",
                              "\u300c\u4e2d\u6587\u300d\U00031b8a",
                              {"\u4e2d\u6587", "\U00031b8a"}},
                    RegexCase{"not_script", R"(\P{Greek}+)", "\u03b1ab\u03b2", {"ab"}},
                    RegexCase{"later_word", R"(\w+)", "a\U00031b8a\u1c89.", {"a\U00031b8a\u1c89"}},
                    RegexCase{"later_upper", R"(\p{Lu})", "\u1c89\u1c8a", {"\u1c89"}},
                    RegexCase{"later_digit", R"([\d&&[^1]]+|\D)", "2\U00010d401", {"2\U00010d40"}},
                    RegexCase{"upper_property", "[[:upper:]]+", "A\u2167a", {"A\u2167"}},
                    RegexCase{"literal_brace", "{a", "{a", {"{a"}}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Regex, Refusals) {
  EXPECT_THAT(message_of([] { Regex("["); }), HasSubstr("a character class without its closing bracket"));
  EXPECT_THAT(message_of([] { Regex("(?x: a)"); }), HasSubstr("the option x is not supported"));
  EXPECT_THAT(message_of([] { Regex("(*UTF)"); }), HasSubstr("there is nothing to repeat"));
  EXPECT_THAT(message_of([] { Regex("a)"); }), HasSubstr("a closing parenthesis too many"));
  EXPECT_THAT(message_of([] { Regex(std::string(1 << 17, 'a')); }), HasSubstr("expected at most 65536 bytes"));
  EXPECT_THAT(message_of([] { Regex(std::string(200, '(') + std::string(200, ')')); }), HasSubstr("does not compile"));
}

}  // namespace
}  // namespace weft::text
