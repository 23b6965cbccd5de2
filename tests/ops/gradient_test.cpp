#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/ops/gradient_check.h"
#include "weft/base/files.h"

namespace weft::testing {
namespace {

class GradientTest : public ::testing::TestWithParam<GradientCase> {};

TEST_P(GradientTest, MatchesCentralDifferences) { check_gradients(GetParam()); }
TEST_P(GradientTest, Bf16StaysCloseToF32) { check_bf16_gradients(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Operations, GradientTest, ::testing::ValuesIn(gradient_cases()),
                         [](const auto& info) { return info.param.name; });

// The names in calls such as record(ctx, "linear", …) of one source file.
std::set<std::string> names_recorded_in(const std::string& source) {
  std::set<std::string> names;
  for (const std::string call : {"record(ctx, \"", "record_without_gradient(ctx, \""}) {
    for (size_t at = source.find(call); at != std::string::npos; at = source.find(call, at)) {
      at += call.size();
      names.insert(source.substr(at, source.find('"', at) - at));
    }
  }
  return names;
}

// Every operation that weft/ops records, found in its sources, has to stand in the table above.
TEST(GradientTable, CoversEveryOperation) {
  std::set<std::string> recorded, written;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/weft/ops")) {
    if (entry.path().extension() == ".cpp") written.merge(names_recorded_in(read_file(entry.path())));
  }
  for (const GradientCase& test : gradient_cases()) {
    for (const std::string& name : recorded_operations(test)) recorded.insert(name);
  }
  ASSERT_GE(written.size(), 11u);
  for (const std::string& name : written) EXPECT_TRUE(recorded.contains(name)) << name << " has no gradient check";
}

}  // namespace
}  // namespace weft::testing
