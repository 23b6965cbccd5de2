#include "weft/io/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Page, HoldsItsPartsAndTheSharedStyle) {
  const std::string page =
      make_page({.title = "a & b", .style = ".own {}", .body = "<p>body</p>", .data = "{\"x\":1}", .script = "run();"});
  for (const char* part : {"<title>a &amp; b</title>", ".own {}", "prefers-color-scheme: dark", "<p>body</p>",
                           "<script type=\"application/json\" id=\"data\">{\"x\":1}</script>", "run();"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
}

TEST(Page, TextInTheDataEndsNoElement) {
  const std::string page = make_page({.title = "</title><b>",
                                      .style = "",
                                      .body = "",
                                      .data = R"({"x":"</script><script>alert(1)<!--"})",
                                      .script = ""});
  EXPECT_THAT(page, HasSubstr(R"({"x":"\u003c/script>\u003cscript>alert(1)\u003c!--"})"));
  EXPECT_THAT(page, Not(HasSubstr("</title><b>")));
}

}  // namespace
}  // namespace weft
