#include "weft/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/support/message_of.h"
#include "weft/base/rng.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing_support::message_of;

struct BrokenText {
  const char* name;
  std::string text;
  const char* start;   // of the message, with the place
  const char* reason;  // somewhere in it
};

class BrokenJson : public testing::TestWithParam<BrokenText> {};

TEST_P(BrokenJson, IsRefused) {
  const BrokenText& c = GetParam();
  const std::string message = message_of([&] { parse_json(c.text, "x.json", {.max_bytes = 1000, .max_depth = 4}); });
  EXPECT_THAT(message, StartsWith(c.start));
  EXPECT_THAT(message, HasSubstr(c.reason));
}

INSTANTIATE_TEST_SUITE_P(
    Table, BrokenJson,
    testing::Values(BrokenText{"empty", "", "x.json: line 1, column 1: ", "unexpected end of input"},
                    BrokenText{"open", "{\"a\": 1",
                               "x.json: line 1, column 8: ", "unexpected end of input; expected '}'"},
                    BrokenText{"trailing", "{} x", "x.json: line 1, column 4: ", "expected end of input"},
                    BrokenText{"two_documents", "1\n2", "x.json: line 2, column 1: ", "expected end of input"},
                    BrokenText{"comma", "[1,\n 2,]", "x.json: line 2, column 4: ", "unexpected ']'"},
                    BrokenText{"comment", "// c\n1", "x.json: line 1, column 1: ", "invalid literal"},
                    BrokenText{"single_quotes", "{'a': 1}", "x.json: line 1, column 2: ", "expected string literal"},
                    BrokenText{"nan", "[NaN]", "x.json: line 1, column 2: ", "invalid literal"},
                    BrokenText{"number_range", "[1e999]", "x.json: line 1, column ", "number overflow parsing '1e999'"},
                    BrokenText{"whole_range", "[1, 18446744073709551616]", "x.json: line 1, column 26: ",
                               "the whole number 18446744073709551616 does not fit 64 bits"},
                    BrokenText{"duplicate", "{\"a\": 1,\n \"b\": {\"c\": 0, \"c\": 1}}",
                               "x.json: line 2, column 19: ", "the key \"c\" stands twice in one object"},
                    BrokenText{"duplicate_escaped", "{\"a\": 1, \"\\u0061\": 2}", "x.json: line 1, column ",
                               "the key \"a\" stands twice in one object"},
                    BrokenText{"deep", "[[[[[1]]]]]", "x.json: line 1, column 6: ", "more than 4 levels of nesting"},
                    BrokenText{"deep_objects", "{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}", "x.json: line 1, column ",
                               "more than 4 levels"},
                    BrokenText{"long", std::string(1001, ' '),
                               "x.json: ", "1001 bytes of JSON are more than the 1000 allowed here"},
                    BrokenText{"bad_utf8", "\"\xff\"", "x.json: line 1, column 2: ", "ill-formed UTF-8 byte"},
                    BrokenText{"lone_surrogate", "\"\\ud800\"", "x.json: line 1, column 8: ", "surrogate"},
                    BrokenText{"control", "\"a\nb\"", "x.json: line 1, column 3: ", "control character"},
                    BrokenText{"zero_byte", std::string("1\n\0 x", 5), "x.json: line 2, column 1: ", "a zero byte"},
                    BrokenText{"leading_zero", "[01]", "x.json: line 1, column 3: ", "expected ']'"},
                    BrokenText{"key_without_value", "{\"a\"}", "x.json: line 1, column 5: ", "expected ':'"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Json, ParsesWhatTheFormatAllows) {
  EXPECT_EQ(parse_json(" [1, -2, 1.5e1, \"\\u00e9\\n\", true, null, {}, []]\n", "x"),
            Json::parse(R"([1, -2, 15.0, "é\n", true, null, {}, []])"));
  EXPECT_EQ(parse_json("18446744073709551615", "x").get<uint64_t>(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(parse_json("{\"a\": {\"b\": 1}, \"b\": [{\"b\": 2}, 3]}", "x").dump(),
            "{\"a\":{\"b\":1},\"b\":[{\"b\":2},3]}");
}

TEST(Json, MessagesHoldNoBrokenBytesOfTheInput) {
  const std::string message = message_of([] { parse_json("[\"" + std::string(500, 'y') + "\xff\"]", "x"); });
  EXPECT_LT(message.size(), 200u);
  EXPECT_EQ(message.find('\xff'), std::string::npos);
}

TEST(Json, DeepNestingNeitherCrashesNorRecurses) {
  EXPECT_THAT(message_of([] { parse_json(std::string(1 << 20, '['), "x"); }), HasSubstr("more than 64 levels"));
}

TEST(JsonFormat, DoublesAndFloatsComeBack) {
  const Rng rng{.seed = 1, .stream = 0};
  for (uint64_t i = 0; i < 5000; ++i) {
    const double value = rng.normal(i) * std::pow(10.0, rng.normal(i + 5000) * 20);
    EXPECT_EQ(parse_json(format_json(Json(value)), "x").get<double>(), value);
    const auto bits = static_cast<uint32_t>(rng.bits(i));
    const float single = std::bit_cast<float>(bits);
    if (!std::isfinite(single)) continue;
    const std::string text = format_json(Json(json_number(single)), JsonStyle::compact);
    const Json back = parse_json(text, "x");
    EXPECT_EQ(JsonView(back, "x").as<float>(), single) << text;
  }
  EXPECT_EQ(format_json(Json(json_number(0.1f)), JsonStyle::compact), "0.1");
  EXPECT_EQ(format_json(Json(json_number(1.23456789f)), JsonStyle::compact), "1.2345679");
}

TEST(JsonFormat, StylesAndRefusals) {
  const Json value = {{"b", {1, 2}}, {"a", "x"}};
  EXPECT_EQ(format_json(value, JsonStyle::compact), R"({"a":"x","b":[1,2]})");
  EXPECT_EQ(format_json(value), "{\n  \"a\": \"x\",\n  \"b\": [\n    1,\n    2\n  ]\n}\n");
  EXPECT_EQ(message_of([] {
              format_json({{"a", {{"b", std::nan("")}}}});
            }),
            "json: cannot write a.b: it is not a finite number");
  EXPECT_EQ(message_of([] { format_json(Json(std::numeric_limits<double>::infinity())); }),
            "json: cannot write the document: it is not a finite number");
  EXPECT_EQ(message_of([] { format_json({{"a", "\xff"}}); }), "json: cannot write text that is not UTF-8");
}

class JsonViewTest : public testing::Test {
 protected:
  const Json document_ = parse_json(
      R"({"n_layer": "12", "whole": 3, "real": 1.5, "huge": 1e300, "big": 5000000000, "top": 18446744073709551615,
          "yes": true, "none": null, "rope": {"factor": true}, "names": ["a", 7], "sizes": [1, 2]})",
      "config.json");
  const JsonView view_{document_, "config.json"};
};

TEST_F(JsonViewTest, ReadsTypedValues) {
  EXPECT_EQ(view_.get<int>("whole"), 3);
  EXPECT_EQ(view_.get<int64_t>("big"), 5000000000);
  EXPECT_EQ(view_.get<double>("whole"), 3.0);
  EXPECT_EQ(view_.get<float>("real"), 1.5f);
  EXPECT_TRUE(view_.get<bool>("yes"));
  EXPECT_EQ(view_.get<std::string>("n_layer"), "12");
  EXPECT_EQ(view_.get<std::vector<int64_t>>("sizes"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(view_.get_or<int>("missing", 8), 8);
  EXPECT_EQ(view_.get_or<int>("none", 8), 8);
  EXPECT_EQ(view_.get_or<int>("whole", 8), 3);
  EXPECT_FALSE(view_.has("none"));
  EXPECT_EQ(view_.at("names").size(), 2u);
  EXPECT_EQ(view_.at("rope").keys(), std::vector<std::string>{"factor"});
}

TEST_F(JsonViewTest, MessagesSayPlaceAndValue) {
  EXPECT_EQ(message_of([&] { view_.get<int>("n_layer"); }),
            "config.json: n_layer: expected a whole number, got \"12\"");
  EXPECT_EQ(message_of([&] { view_.get<int64_t>("real"); }), "config.json: real: expected a whole number, got 1.5");
  EXPECT_EQ(message_of([&] { view_.get<int>("big"); }),
            "config.json: big: expected a whole number within 32 bits, got 5000000000");
  EXPECT_EQ(message_of([&] { view_.get<int64_t>("top"); }),
            "config.json: top: expected a whole number within 64 bits, got 18446744073709551615");
  EXPECT_EQ(message_of([&] { view_.get<float>("huge"); }),
            "config.json: huge: expected a number within float32, got 1e+300");
  EXPECT_EQ(message_of([&] { view_.at("rope").get<double>("factor"); }),
            "config.json: rope.factor: expected a number, got true");
  EXPECT_EQ(message_of([&] { view_.get<bool>("whole"); }), "config.json: whole: expected true or false, got 3");
  EXPECT_EQ(message_of([&] { view_.get<std::string>("rope"); }), "config.json: rope: expected a string, got an object");
  EXPECT_EQ(message_of([&] { view_.get<std::vector<std::string>>("names"); }),
            "config.json: names[1]: expected a string, got 7");
  EXPECT_EQ(message_of([&] { view_.at("sizes").at(2); }), "config.json: sizes: no element 2 in an array of 2");
  EXPECT_EQ(message_of([&] { view_.get<int>("missing"); }), "config.json: \"missing\" is missing");
  EXPECT_EQ(message_of([&] { view_.as<int>(); }), "config.json: expected a whole number, got an object");
  EXPECT_EQ(message_of([&] { view_.at("names").at("a"); }), "config.json: names: expected an object, got an array");
  EXPECT_EQ(message_of([&] { view_.at("rope").size(); }), "config.json: rope: expected an array, got an object");
}

TEST_F(JsonViewTest, LongValuesAreCutBetweenCharacters) {
  const Json text = std::string(59, 'x') + "éééé";
  const std::string message = message_of([&] { JsonView(text, "x").as<int>(); });
  EXPECT_EQ(message, "x: expected a whole number, got \"" + std::string(59, 'x') + "…");
}

TEST_F(JsonViewTest, UnknownKeysGetASuggestion) {
  const JsonView rope = view_.at("rope");
  EXPECT_NO_THROW(rope.allow_only({"factor", "base"}));
  EXPECT_EQ(message_of([&] {
              rope.allow_only({"base", "factors"});
            }),
            "config.json: rope: unknown key \"factor\"; did you mean \"factors\"?");
  EXPECT_EQ(message_of([&] { rope.allow_only({"base"}); }), "config.json: rope: unknown key \"factor\"; known: base");
}

}  // namespace
}  // namespace weft
