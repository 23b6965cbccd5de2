#include "weft/base/shorten.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Shorten, LeavesShortTexts) {
  EXPECT_EQ(shortened(""), "");
  EXPECT_EQ(shortened("abc", 3), "abc");
}

TEST(Shorten, CutsLongTextsBetweenCharacters) {
  EXPECT_EQ(shortened("abcd", 3), "abc…");
  EXPECT_EQ(shortened("ab\u20ac!", 5), "ab\u20ac…");
  EXPECT_EQ(shortened("ab\u20ac!", 4), "ab…");
  EXPECT_EQ(shortened("\u20ac!", 1), "…");
  EXPECT_EQ(shortened("12345678901234567890123456789012345678901234567890123456789012345"),
            "123456789012345678901234567890123456789012345678901234567890…");
}

}  // namespace
}  // namespace weft
