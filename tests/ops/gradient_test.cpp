#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/ops/gradient_check.h"

namespace weft::testing {
namespace {

class GradientTest : public ::testing::TestWithParam<GradientCase> {};

TEST_P(GradientTest, MatchesCentralDifferences) { check_gradients(GetParam()); }
TEST_P(GradientTest, Bf16StaysCloseToF32) { check_bf16_gradients(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Operations, GradientTest, ::testing::ValuesIn(gradient_cases()),
                         [](const auto& info) { return info.param.name; });

// Every operation that weft/ops records, found in its sources, has to stand in the table above.
TEST(GradientTable, CoversEveryOperation) {
  std::set<std::string> recorded;
  const std::regex call("record(?:_without_gradient)?\\(ctx, \"([a-z_]+)\"");
  std::set<std::string> written;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/weft/ops")) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const std::string source = text.str();
    for (std::sregex_iterator it(source.begin(), source.end(), call), end; it != end; ++it) written.insert((*it)[1]);
  }
  for (const GradientCase& test : gradient_cases()) {
    for (const std::string& name : recorded_operations(test)) recorded.insert(name);
  }
  ASSERT_GE(written.size(), 11u);
  for (const std::string& name : written) EXPECT_TRUE(recorded.contains(name)) << name << " has no gradient check";
}

}  // namespace
}  // namespace weft::testing
