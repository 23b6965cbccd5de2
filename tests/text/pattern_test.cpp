#include "weft/text/pattern.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "weft/base/rng.h"

namespace weft::text {
namespace {

Pattern regex_pattern(const std::string& expression) {
  const Json description = {{"Regex", expression}};
  return Pattern(JsonView(description, "test"));
}

std::string shown(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts) text += fmt::format("{}-{}{} ", part.begin, part.end, part.is_match ? "!" : "");
  return text;
}

// ` {n,}` is not given to the regular expression library, the same in a group is.
TEST(Pattern, RunsAreFoundWithoutTheLibrary) {
  for (const char* least : {"1", "2", "3"}) {
    const Pattern runs = regex_pattern(fmt::format(" {{{},}}", least));
    const Pattern group = regex_pattern(fmt::format("(?: {{{},}})", least));
    for (uint64_t round = 0; round < 2000; ++round) {
      const Rng rng = Rng{.seed = 4, .stream = 0}.split(round);
      std::string text(rng.below(16, 0), 'a');
      for (size_t i = 0; i < text.size(); ++i) {
        if (rng.below(3, i + 1) > 0) text[i] = ' ';
      }
      TextBudget budget(text.size());
      ASSERT_EQ(shown(runs.parts(text, budget)), shown(group.parts(text, budget))) << least << ": \"" << text << '"';
      ASSERT_EQ(runs.occurs_in(text, budget), group.occurs_in(text, budget)) << least << ": \"" << text << '"';
    }
  }
}

}  // namespace
}  // namespace weft::text
