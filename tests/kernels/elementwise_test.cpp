#include "weft/kernels/elementwise.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/kernels/comparison.h"
#include "tests/kernels/test_matrix.h"
#include "weft/kernels/portable/elementwise.h"

namespace weft::kernels {
namespace {

using testing::HasSubstr;

struct Size {
  int64_t rows, cols, gap;
};
const Size sizes[] = {{0, 5, 0}, {3, 0, 0}, {1, 1, 0}, {1, 17, 0}, {7, 33, 5}, {5, 64, 0}, {3, 1029, 7}, {9, 130, 0}};
const DType dtypes[] = {DType::f32, DType::bf16};

// A few roundings to f32, relative to the element or to 1; expect_near adds the rounding of bf16.
constexpr double tolerance = 1e-6;

// Calls body(size, dtype of x, dtype of y) for the whole table, on each instruction set.
template <typename Body>
void for_table(const Body& body) {
  for_each_target([&] {
    for (const Size& size : sizes) {
      for (DType a : dtypes) {
        for (DType b : dtypes) {
          SCOPED_TRACE(fmt::format("({}, {}) gap {} {} {}", size.rows, size.cols, size.gap, name_of(a), name_of(b)));
          body(size, a, b);
        }
      }
    }
  });
}

TEST(Convert, RoundsAsBFloat16DoesAndLeavesGaps) {
  for_table([](const Size& size, DType a, DType b) {
    const TestMatrix x = TestMatrix::random(a, size.rows, size.cols, size.gap, 1, 1.0f);
    TestMatrix y(b, size.rows, size.cols, size.gap + 2);
    convert(x.view(), y.view());
    for (int64_t r = 0; r < size.rows; ++r) {
      for (int64_t c = 0; c < size.cols; ++c) {
        const float expected = b == DType::bf16 ? static_cast<float>(BFloat16(x.get(r, c))) : x.get(r, c);
        ASSERT_EQ(y.get(r, c), expected);
      }
    }
  });
}

TEST(Convert, EveryKindOfFloatRoundsLikeTheScalarType) {
  for_each_target([] {
    std::vector<float> x;
    for (uint32_t upper = 0; upper < 65536; ++upper) {
      for (uint32_t lower : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
        x.push_back(std::bit_cast<float>((upper << 16) | lower));
      }
    }
    const int64_t count = static_cast<int64_t>(x.size());
    std::vector<BFloat16> y(x.size());
    convert({x.data(), DType::f32, 1, count, count}, {y.data(), DType::bf16, 1, count, count});
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i].bits, BFloat16(x[i]).bits) << std::bit_cast<uint32_t>(x[i]);
  });
}

TEST(Accumulate, AddsScaled) {
  for_table([](const Size& size, DType a, DType b) {
    const TestMatrix x = TestMatrix::random(a, size.rows, size.cols, size.gap, 1, 1.0f);
    TestMatrix y = TestMatrix::random(b, size.rows, size.cols, size.gap, 2, 1.0f);
    std::vector<double> expected = y.dense();
    portable::accumulate<double>(size.rows * size.cols, x.dense().data(), expected.data(), -0.75);
    accumulate(x.view(), y.view(), -0.75f);
    y.expect_near(expected, tolerance);
  });
}

TEST(ScaleAndFill, TouchEveryElementAndNoGap) {
  for_table([](const Size& size, DType a, DType) {
    TestMatrix x = TestMatrix::random(a, size.rows, size.cols, size.gap, 1, 1.0f);
    std::vector<double> expected = x.dense();
    for (double& value : expected) value *= 1.25;
    scale(x.view(), 1.25f);
    x.expect_near(expected, tolerance);
    fill(x.view(), -3.5f);
    EXPECT_EQ(x.dense(), std::vector<double>(expected.size(), -3.5));
  });
}

TEST(Dropout, AddAndApplyFollowTheCounter) {
  for (float probability : {0.0f, 0.3f}) {
    const Dropout dropout{probability, Rng{7, (uint64_t{1} << 40) + 3}};
    for_table([&](const Size& size, DType a, DType b) {
      const int64_t count = size.rows * size.cols;
      TestMatrix x = TestMatrix::random(a, size.rows, size.cols, size.gap, 1, 1.0f);
      const TestMatrix y = TestMatrix::random(b, size.rows, size.cols, 0, 2, 1.0f);
      std::vector<double> expected(static_cast<size_t>(count));
      const std::vector<double> x_values = x.dense(), y_values = y.dense();
      portable::add_dropout<double>(count, x_values.data(), y_values.data(), dropout, expected.data());
      add_dropout(x.view(), y.view(), dropout, x.view());  // in place
      x.expect_near(expected, tolerance);

      TestMatrix dropped(a, size.rows, size.cols, size.gap);
      portable::apply_dropout<double>(count, y_values.data(), dropout, expected.data());
      apply_dropout(y.view(), dropout, dropped.view());
      dropped.expect_near(expected, tolerance);
    });
  }
}

TEST(Dropout, KeepsTheAskedShare) {
  TestMatrix x(DType::f32, 1, 200000);
  fill(x.view(), 1.0f);
  apply_dropout(x.view(), {0.25f, Rng{1, 2}}, x.view());
  double mean = 0.0;
  for (double value : x.dense()) mean += value / 200000.0;
  // The mean of n inverted-dropout factors has the standard deviation √(p/(1 − p)/n) = 0.0013; five of them.
  EXPECT_NEAR(mean, 1.0, 0.0065);
}

TEST(ColumnSums, SumsAccumulatesAndConverts) {
  for_table([](const Size& size, DType a, DType) {
    for (bool accumulate : {false, true}) {
      const TestMatrix x = TestMatrix::random(a, size.rows, size.cols, size.gap, 1, 1.0f);
      TestMatrix copy(DType::bf16, size.rows, size.cols, 3);
      std::vector<float> out = random_floats(size.cols, 5);
      std::vector<double> expected(out.begin(), out.end());
      portable::column_sums<double>(size.rows, size.cols, x.dense().data(), expected.data(), accumulate);
      std::vector<float> plain = out;
      column_sums(x.view(), plain.data(), accumulate);
      const MutableMatrix converted = copy.view();
      column_sums(x.view(), out.data(), accumulate, &converted);
      // Sums of up to 150 f32 numbers, relative to the largest sum.
      EXPECT_LE(relative_error(std::vector<double>(out.begin(), out.end()), expected), 3e-6);
      EXPECT_EQ(out, plain);
      TestMatrix rounded(DType::bf16, size.rows, size.cols, 3);
      convert(x.view(), rounded.view());
      EXPECT_EQ(copy.bytes(), rounded.bytes());
    }
  });
}

TEST(Elementwise, SameBitsForAnyThreadCount) {
  const Dropout dropout{0.2f, Rng{3, 4}};
  for (int64_t gap : {0, 5}) {  // as one long row, and row by row
    TestMatrix one = TestMatrix::random(DType::f32, 97, 1030, gap, 1), two = one;
    const TestMatrix x = TestMatrix::random(DType::bf16, 97, 1030, gap, 2);
    const auto change = [&](TestMatrix& y) {
      accumulate(x.view(), y.view(), 0.5f);
      add_dropout(y.view(), x.view(), dropout, y.view());
      apply_dropout(y.view(), dropout, y.view());
    };
    with_threads(1, [&] { change(one); });
    with_threads(2, [&] { change(two); });
    EXPECT_EQ(one.bytes(), two.bytes());
  }
}

TEST(Sums, SameBitsForAnyThreadCount) {
  const TestMatrix x = TestMatrix::random(DType::f32, 2000, 129, 0, 3);
  std::vector<float> one(129), two(129);
  const std::vector<float> values = random_floats(2000 * 129, 4);
  double squares_one, squares_two;
  with_threads(1, [&] {
    column_sums(x.view(), one.data(), false);
    squares_one = sum_of_squares(values.data(), 2000 * 129);
  });
  with_threads(2, [&] {
    column_sums(x.view(), two.data(), false);
    squares_two = sum_of_squares(values.data(), 2000 * 129);
  });
  EXPECT_EQ(one, two);
  EXPECT_EQ(squares_one, squares_two);
}

TEST(SumOfSquares, IsExactToDouble) {
  for_each_target([] {
    for (int64_t count : {0, 1, 7, 64, 1001, 70000, 200003}) {
      std::vector<float> x = random_floats(count, 9, 1e15f);  // squares that do not fit f32 sums of any accuracy
      const std::vector<double> wide(x.begin(), x.end());
      const double expected = portable::sum_of_squares(wide.data(), count);
      // Both add the same exact products in double, in another order.
      EXPECT_NEAR(sum_of_squares(x.data(), count), expected, 1e-12 * expected);
    }
    const std::vector<float> large(3, 3e38f);
    EXPECT_NEAR(sum_of_squares(large.data(), 3), 2.7e77, 1e71);
  });
}

TEST(FirstNonFinite, FindsTheFirstOfSeveral) {
  for_each_target([] {
    for (int64_t count : {1, 15, 16, 100, 65536, 65537, 140000}) {
      std::vector<float> x = random_floats(count, 4);
      x[0] = std::numeric_limits<float>::max();
      EXPECT_EQ(first_non_finite(x.data(), count), -1);
      for (int64_t place : {count - 1, count * 2 / 3, count / 2, int64_t{0}}) {
        x[static_cast<size_t>(place)] = place % 2 ? -std::numeric_limits<float>::infinity() : std::nanf("");
        EXPECT_EQ(first_non_finite(x.data(), count), portable::first_non_finite(x.data(), count));
        EXPECT_EQ(first_non_finite(x.data(), count), place);
      }
    }
    EXPECT_EQ(first_non_finite(nullptr, 0), -1);
  });
}

TEST(ElementwiseErrors, NameOperationExpectationAndSize) {
  TestMatrix x(DType::f32, 3, 4), y(DType::f32, 3, 5);
  EXPECT_EQ(message_of([&] { convert(x.view(), y.view()); }), "convert: y must be (3, 4), got (3, 5)");
  EXPECT_EQ(message_of([&] { accumulate(x.view(), y.view()); }), "accumulate: y must be (3, 4), got (3, 5)");
  MutableMatrix ids = x.view();
  ids.dtype = DType::i32;
  EXPECT_EQ(message_of([&] { scale(ids, 1.0f); }), "scale: x must be f32 or bf16, got i32");
  MutableMatrix narrow = x.view();
  narrow.stride = 2;
  EXPECT_EQ(message_of([&] { fill(narrow, 1.0f); }), "fill: x has stride 2, less than its 4 columns");
  MutableMatrix absent = x.view();
  absent.data = nullptr;
  EXPECT_EQ(message_of([&] { convert(absent, x.view()); }), "convert: x of size (3, 4) has no data");
  EXPECT_EQ(message_of([&] {
              apply_dropout(x.view(), {1.0f, {}}, x.view());
            }),
            "dropout: probability 1 is not in [0, 1)");
  EXPECT_THAT(message_of([&] { add_dropout(x.view(), y.view(), {}, x.view()); }),
              HasSubstr("add_dropout: y must be (3, 4)"));
  TestMatrix copy(DType::f32, 3, 4);
  const MutableMatrix wrong = copy.view();
  std::vector<float> out(4);
  EXPECT_EQ(message_of([&] { column_sums(x.view(), out.data(), false, &wrong); }),
            "column_sums: converted must be bf16, got f32");
  EXPECT_EQ(message_of([&] { sum_of_squares(nullptr, 3); }), "sum_of_squares: no data for 3 elements");
}

}  // namespace
}  // namespace weft::kernels
