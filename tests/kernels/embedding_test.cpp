#include "weft/kernels/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/comparison.h"
#include "tests/kernels/test_matrix.h"
#include "weft/base/error.h"
#include "weft/kernels/portable/embedding.h"

namespace weft::kernels {
namespace {

constexpr DType all_dtypes[] = {DType::f32, DType::bf16};
const Dropout no_dropout;
const Dropout some_dropout{0.3f, {5, 6}};

std::vector<int32_t> random_ids(int64_t rows, int64_t table_rows, uint64_t seed) {
  std::vector<int32_t> ids;
  const Rng rng{seed, 1};
  for (int64_t r = 0; r < rows; ++r) {
    ids.push_back(static_cast<int32_t>(rng.below(static_cast<uint64_t>(table_rows), static_cast<uint64_t>(r))));
  }
  return ids;
}

struct Case {
  int64_t rows, d, gap;
  bool with_positions;
  Dropout dropout;
};
// Odd widths start rows inside a block of four random words; 1030 needs more than one stretch of dropout factors.
const Case cases[] = {{0, 4, 0, false, no_dropout},     {1, 1, 0, true, no_dropout},
                      {9, 7, 2, true, some_dropout},    {33, 64, 0, false, no_dropout},
                      {20, 130, 1, true, some_dropout}, {5, 1030, 3, true, some_dropout}};

void check_forward(const Case& c, DType in, DType out) {
  constexpr int64_t vocab_size = 11, max_positions = 6;
  const TestMatrix table = TestMatrix::random(in, vocab_size, c.d, c.gap, 1);
  const TestMatrix positions = TestMatrix::random(DType::f32, max_positions, c.d, c.gap + 1, 2);
  const std::vector<int32_t> ids = random_ids(c.rows, vocab_size, 3), places = random_ids(c.rows, max_positions, 4);
  TestMatrix y(out, c.rows, c.d, c.gap + 2);
  embedding_forward(table.view(), ids.data(), 1.5f, c.with_positions ? positions.view() : ConstMatrix{}, places.data(),
                    c.dropout, y.view());

  std::vector<double> expected(c.rows * c.d);
  const std::vector<double> wide_table = table.dense(), wide_positions = positions.dense();
  portable::embedding_forward<double>({ids.data(), places.data(), c.rows, c.d, 1.5, c.dropout}, wide_table.data(),
                                      c.with_positions ? wide_positions.data() : nullptr, expected.data());
  // Relative to max(1, |y|): roundings of the product, the sum and of 1/(1 − p), 6e−8 each of terms up to some 10.
  y.expect_near(expected, 2e-6);
}

void check_backward(const Case& c, DType in) {
  constexpr int64_t vocab_size = 11;
  const TestMatrix dy = TestMatrix::random(in, c.rows, c.d, c.gap, 5);
  const std::vector<int32_t> ids = random_ids(c.rows, vocab_size, 6);
  TestMatrix d_table = TestMatrix::random(DType::f32, vocab_size, c.d, c.gap, 7);
  std::vector<double> expected = d_table.dense();
  embedding_backward(dy.view(), ids.data(), 1.5f, c.dropout, d_table.view());
  portable::embedding_backward<double>({ids.data(), nullptr, c.rows, c.d, 1.5, c.dropout}, dy.dense().data(),
                                       expected.data());
  // Relative to max(1, |sum|): as above for each of some ten terms that share a row.
  d_table.expect_near(expected, 4e-6);
}

TEST(Embedding, AgreesWithThePortableFormula) {
  for_each_target([] {
    for (const Case& c : cases) {
      for (const DType in : all_dtypes) {
        SCOPED_TRACE(testing::Message() << c.rows << "x" << c.d << " from " << name_of(in));
        for (const DType out : all_dtypes) check_forward(c, in, out);
        check_backward(c, in);
      }
    }
  });
}

TEST(Embedding, GradientIsTheDerivative) {
  constexpr int64_t rows = 6, d = 3, vocab_size = 4;
  std::vector<double> table = widen(random_floats(vocab_size * d, 8));
  const std::vector<double> dy = widen(random_floats(rows * d, 9));
  const std::vector<int32_t> ids{2, 0, 2, 3, 2, 0};
  const portable::EmbeddingRows<double> problem{ids.data(), nullptr, rows, d, 0.7, some_dropout};
  const auto loss = [&] {
    std::vector<double> y(rows * d);
    portable::embedding_forward<double>(problem, table.data(), nullptr, y.data());
    double sum = 0.0;
    for (size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
    return sum;
  };
  std::vector<double> gradient(table.size());
  portable::embedding_backward(problem, dy.data(), gradient.data());
  // Relative to the largest: the loss is linear, so only its rounding over the step of 1e−5 is left.
  EXPECT_LE(relative_error(gradient, numeric_gradient(table, loss)), 1e-9);
}

TEST(Embedding, LeavesRowsWithoutIdsAlone) {
  const TestMatrix dy = TestMatrix::random(DType::f32, 2, 70, 0, 10);
  TestMatrix d_table = TestMatrix::random(DType::f32, 3, 70, 0, 11);
  const std::vector<double> before = d_table.dense();
  const std::vector<int32_t> ids{2, 2};
  embedding_backward(dy.view(), ids.data(), 1.0f, no_dropout, d_table.view());
  const std::vector<double> after = d_table.dense();
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 140, after.begin()));
  EXPECT_FALSE(std::equal(before.begin() + 140, before.end(), after.begin() + 140));
}

TEST(Embedding, ThreadsDoNotChangeBits) {
  constexpr int64_t rows = 700, d = 200, vocab_size = 5;
  const TestMatrix table = TestMatrix::random(DType::f32, vocab_size, d, 0, 12);
  const TestMatrix dy = TestMatrix::random(DType::bf16, rows, d, 0, 13);
  const std::vector<int32_t> ids = random_ids(rows, vocab_size, 14);
  std::vector<TestMatrix> ys, gradients;
  for (const int threads : {1, 2}) {
    TestMatrix& y = ys.emplace_back(DType::f32, rows, d);
    TestMatrix& d_table = gradients.emplace_back(TestMatrix::random(DType::f32, vocab_size, d, 0, 15));
    with_threads(threads, [&] {
      embedding_forward(table.view(), ids.data(), 1.0f, {}, nullptr, some_dropout, y.view());
      embedding_backward(dy.view(), ids.data(), 1.0f, some_dropout, d_table.view());
    });
  }
  EXPECT_EQ(ys[0].bytes(), ys[1].bytes());
  EXPECT_EQ(gradients[0].bytes(), gradients[1].bytes());
}

TEST(Embedding, NamesTheFirstBadId) {
  TestMatrix table = TestMatrix::random(DType::f32, 5, 4, 0, 16), y(DType::f32, 3, 4), wide(DType::f32, 3, 6);
  const int32_t good[] = {0, 4, 2}, high[] = {0, 5, 9}, negative[] = {0, 1, -1};
  const std::vector<unsigned char> untouched = y.bytes();
  const auto forward = [&](const int32_t* ids, const int32_t* places, MutableMatrix to) {
    return message_of([&] { embedding_forward(table.view(), ids, 1.0f, table.view(), places, no_dropout, to); });
  };
  EXPECT_EQ(forward(high, good, y.view()), "embedding_forward: id 5 at place 1 is not in the table of 5 rows");
  EXPECT_EQ(forward(good, negative, y.view()),
            "embedding_forward: position id -1 at place 2 is not in the table of 5 rows");
  EXPECT_EQ(forward(good, good, wide.view()), "embedding_forward: table has 4 columns, y 6");
  EXPECT_EQ(y.bytes(), untouched);
  EXPECT_EQ(message_of([&] { embedding_backward(y.view(), negative, 1.0f, no_dropout, table.view()); }),
            "embedding_backward: id -1 at place 2 is not in the table of 5 rows");
  TestMatrix bf16(DType::bf16, 5, 4);
  EXPECT_THAT(message_of([&] { embedding_backward(y.view(), good, 1.0f, no_dropout, bf16.view()); }),
              testing::HasSubstr("expected d_table in f32 with 4 columns, got bf16 with 4"));
}

}  // namespace
}  // namespace weft::kernels
