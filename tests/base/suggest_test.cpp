#include "weft/base/suggest.h"

#include <gtest/gtest.h>

#include <array>

namespace weft {
namespace {

constexpr std::array<std::string_view, 5> known = {"steps", "epochs", "batch_size", "seed", "lr"};

TEST(Suggest, FindsTheMisspeltName) {
  EXPECT_EQ(closest_match("step", known), "steps");             // one missing
  EXPECT_EQ(closest_match("epoochs", known), "epochs");         // one too many
  EXPECT_EQ(closest_match("batch-size", known), "batch_size");  // one replaced
  EXPECT_EQ(closest_match("sede", known), "seed");              // two swapped
  EXPECT_EQ(closest_match("btachsize", known), "batch_size");
}

TEST(Suggest, DoesNotGuessWildly) {
  EXPECT_EQ(closest_match("temperature", known), "");
  EXPECT_EQ(closest_match("xy", known), "");
  EXPECT_EQ(closest_match("", known), "");
  EXPECT_EQ(closest_match(std::string(100000, 'x'), known), "");
  EXPECT_EQ(closest_match("steps", {}), "");
}

TEST(Suggest, EndsAMessage) {
  EXPECT_EQ(suggestion("sede", known), "; did you mean \"seed\"?");
  EXPECT_EQ(suggestion("temperature", known), "; known: steps, epochs, batch_size, seed, lr");
  EXPECT_EQ(suggestion("temperature", {}), "");
}

}  // namespace
}  // namespace weft
