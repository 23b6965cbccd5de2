#include "weft/text/double_array.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "weft/base/rng.h"

namespace weft::text {
namespace {

int32_t find(const DoubleArray& array, std::string_view key) {
  uint32_t node = DoubleArray::root;
  for (const char c : key) {
    node = array.step(node, static_cast<unsigned char>(c));
    if (node == DoubleArray::root) return DoubleArray::none;
  }
  return array.value(node);
}

TEST(DoubleArray, FindsWhatItWasMadeOf) {
  const DoubleArray array({{"b", 1}, {"abc", 2}, {"ab", 3}, {"", 4}, {"b", 5}, {std::string_view("\0\xff", 2), 6}});
  EXPECT_EQ(find(array, "ab"), 3);
  EXPECT_EQ(find(array, "abc"), 2);
  EXPECT_EQ(find(array, "b"), 5) << "the last of equal keys";
  EXPECT_EQ(find(array, std::string_view("\0\xff", 2)), 6);
  for (const char* other : {"a", "abcd", "c", "bb", ""}) EXPECT_EQ(find(array, other), DoubleArray::none) << other;
  EXPECT_EQ(find(DoubleArray(), "a"), DoubleArray::none);
}

// Nodes of three children whose places leave every fourth free, where none of the others fits.
TEST(DoubleArray, FillsItsBlocks) {
  std::vector<std::string> keys = {""};
  size_t nodes = 1;
  for (int length = 1; length <= 8; ++length) {
    std::vector<std::string> longer;
    for (const std::string& key : keys) {
      for (const char c : {'`', 'a', 'b'}) longer.push_back(key + c);
    }
    keys = std::move(longer);
    nodes += keys.size();
  }
  std::vector<DoubleArray::Entry> entries;
  for (const std::string& key : keys) entries.emplace_back(key, 1);
  const DoubleArray array(entries);
  EXPECT_EQ(find(array, "ab`ab`ab"), 1);
  EXPECT_LT(array.places(), 2 * nodes);
}

// Random keys: over few bytes, so that they share branches, and over all, so that nodes have many children.
TEST(DoubleArray, IsTheSameAsAMap) {
  for (const uint64_t bytes : {3, 256}) {
    const Rng rng = Rng{.seed = 3, .stream = 0}.split(bytes);
    std::map<std::string, int32_t> expected;
    uint64_t draws = 0;
    const auto random_key = [&] {
      std::string key(1 + rng.below(bytes == 3 ? 9 : 3, draws++), ' ');
      for (char& c : key) c = static_cast<char>(rng.below(bytes, draws++));
      return key;
    };
    for (int32_t i = 0; i < 20000; ++i) expected[random_key()] = i;
    const DoubleArray array({expected.begin(), expected.end()});
    for (const auto& [key, value] : expected) ASSERT_EQ(find(array, key), value);
    for (int i = 0; i < 20000; ++i) {
      const std::string key = random_key();
      const auto found = expected.find(key);
      ASSERT_EQ(find(array, key), found == expected.end() ? DoubleArray::none : found->second);
    }
  }
}

}  // namespace
}  // namespace weft::text
