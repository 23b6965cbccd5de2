#include "weft/base/error.h"

#include <gtest/gtest.h>

#include <string_view>

namespace weft {
namespace {

TEST(Error, CarriesMessageAndPlaceOfTheCall) {
  const auto line_before = std::source_location::current();
  try {
    fail<FormatError>("attention: d_model {} is not a multiple of heads {}", 250, 8);
  } catch (const FormatError& error) {
    EXPECT_STREQ(error.what(), "attention: d_model 250 is not a multiple of heads 8");
    EXPECT_EQ(error.where().line(), line_before.line() + 2);
    EXPECT_TRUE(std::string_view(error.where().file_name()).ends_with("error_test.cpp"));
  }
}

TEST(Error, RequireThrowsOnlyIfTheConditionFails) {
  EXPECT_NO_THROW(require(true, "not {}", 1));
  const auto line_before = std::source_location::current();
  try {
    require<UsageError>(false, "not {}", 1);
    FAIL() << "require(false) did not throw";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "not 1");
    EXPECT_EQ(error.where().line(), line_before.line() + 2);
  }
}

TEST(Error, KindsAreOneFamily) {
  EXPECT_THROW(fail<IoError>("x"), Error);
  EXPECT_THROW(fail<UsageError>("x"), Error);
  EXPECT_THROW(fail<FormatError>("x"), std::runtime_error);
}

}  // namespace
}  // namespace weft
