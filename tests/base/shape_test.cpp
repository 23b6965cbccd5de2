#include "weft/base/shape.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/message_of.h"

namespace weft {
namespace {

using testing_support::message_of;

TEST(Shape, SizesCountFromBothEnds) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape[-3], 2);
  EXPECT_EQ(shape.numel(), 30);
  EXPECT_EQ(std::vector<int64_t>(shape.begin(), shape.end()), (std::vector<int64_t>{2, 3, 5}));
  EXPECT_EQ(fmt::format("{}", shape), "(2, 3, 5)");
}

TEST(Shape, ScalarAndEmpty) {
  EXPECT_EQ(Shape{}.rank(), 0);
  EXPECT_EQ(Shape{}.numel(), 1);
  EXPECT_EQ(Shape{}.to_string(), "()");
  EXPECT_EQ((Shape{4, 0, 3}).numel(), 0);
}

TEST(Shape, EqualOnlyWithTheSameRankAndSizes) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
  EXPECT_NE(Shape{}, (Shape{1}));
}

TEST(Shape, WithLast) {
  EXPECT_EQ((Shape{2, 3}).with_last(7), (Shape{2, 7}));
  EXPECT_EQ(message_of([] { Shape{}.with_last(7); }), "shape: a scalar has no last dimension");
}

TEST(Shape, RefusesWhatItCannotHold) {
  EXPECT_EQ(message_of([] { Shape{1, 1, 1, 1, 1, 1, 1}; }), "shape: at most 6 dimensions, not 7");
  EXPECT_EQ(message_of([] { Shape{2, -1}; }), "shape: sizes are not negative, got -1");
  EXPECT_EQ(message_of([] { Shape{2, 3}[2]; }), "shape: no dimension 2 in (2, 3)");
  EXPECT_EQ(message_of([] { Shape{2, 3}[-3]; }), "shape: no dimension -3 in (2, 3)");
  const int64_t large = int64_t{1} << 40;
  EXPECT_EQ(message_of([&] {
              Shape({large, large}).numel();
            }),
            "shape: (1099511627776, 1099511627776) has more elements than fit 63 bits");
}

}  // namespace
}  // namespace weft
