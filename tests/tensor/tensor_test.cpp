#include "weft/tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "weft/base/error.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Tensor counted(const Shape& shape) {
  Tensor tensor = Tensor::empty(shape);
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.data<float>()[i] = static_cast<float>(i);
  return tensor;
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  Tensor a = counted({2, 3});
  Tensor shared = a;
  const Tensor copy = a.clone();
  shared.data<float>()[0] = 9.0f;
  EXPECT_EQ(a.data<float>()[0], 9.0f);
  EXPECT_EQ(copy.data<float>()[0], 0.0f);
  EXPECT_FALSE(a.is_sole_owner());
  EXPECT_TRUE(copy.is_sole_owner());
}

TEST(Tensor, SlicesAreViewsWithStrides) {
  const Tensor a = counted({3, 4});
  const Tensor columns = a.slice(1, 1, 3);
  EXPECT_EQ(columns.shape(), (Shape{3, 2}));
  EXPECT_FALSE(columns.is_contiguous());
  EXPECT_THAT(columns.contiguous().span<float>(), ElementsAre(1, 2, 5, 6, 9, 10));
  const auto view = matrix_view(columns);
  EXPECT_EQ(view.rows, 3);
  EXPECT_EQ(view.stride, 4);
  EXPECT_EQ(view.data, a.raw() + 4);
  const Tensor rows = a.slice(0, 1, 2);
  EXPECT_TRUE(rows.is_contiguous());
  EXPECT_THAT(rows.span<float>(), ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(a.slice(-1, 0, 0).numel(), 0);
}

TEST(Tensor, CloneOfInnerSlicesKeepsOrder) {
  const Tensor a = counted({2, 3, 4});
  EXPECT_THAT(a.slice(1, 1, 2).slice(2, 2, 4).clone().span<float>(), ElementsAre(6, 7, 18, 19));
}

TEST(Tensor, MatrixViewCollapsesEvenRowsOnly) {
  const Tensor a = counted({2, 3, 4});
  EXPECT_EQ(matrix_view(a).rows, 6);
  EXPECT_EQ(matrix_view(a.slice(2, 0, 2)).stride, 4);
  EXPECT_THAT([&] { matrix_view(a.slice(1, 0, 2)); }, ThrowsMessage<Error>(HasSubstr("cannot be seen as a matrix")));
  EXPECT_EQ(matrix_view(counted({5})).rows, 1);
  EXPECT_EQ(matrix_view(Tensor::scalar(2.0f)).cols, 1);
}

TEST(Tensor, ConvertsBetweenElementTypes) {
  const std::array<float, 3> values = {1.0f, -2.5f, 1.0f / 3.0f};
  const Tensor a = Tensor::from<float>(values, {3});
  const Tensor b = a.to(DType::bf16);
  EXPECT_EQ(b.dtype(), DType::bf16);
  EXPECT_EQ(float{b.data<BFloat16>()[1]}, -2.5f);
  EXPECT_EQ(b.to(DType::f32).data<float>()[2], float{BFloat16(values[2])});
}

TEST(Tensor, ErrorsSayWhatWasExpected) {
  const Tensor a = counted({2, 3});
  EXPECT_THAT([&] { (void)a.data<int32_t>(); }, ThrowsMessage<Error>(HasSubstr("(2, 3) holds f32, not i32")));
  EXPECT_THAT([&] { a.reshape({4, 2}); }, ThrowsMessage<Error>(HasSubstr("(2, 3) has 6 elements, (4, 2) has 8")));
  EXPECT_THAT([&] { a.slice(1, 2, 4); }, ThrowsMessage<Error>(HasSubstr("[2, 4) is not inside dimension 1 of (2, 3)")));
  EXPECT_THAT([&] { a.slice(2, 0, 1); }, ThrowsMessage<Error>(HasSubstr("no dimension 2 in (2, 3)")));
  EXPECT_THAT([&] { (void)a.item(); }, ThrowsMessage<Error>(HasSubstr("item() needs one element")));
  EXPECT_THAT([&] { a.slice(1, 0, 2).span<float>(); }, ThrowsMessage<Error>(HasSubstr("call contiguous() first")));
  EXPECT_THAT(
      [] {
        Tensor::empty({int64_t{1} << 40, int64_t{1} << 40});
      },
      ThrowsMessage<Error>(HasSubstr("more elements")));
}

TEST(Allocator, ReusesBlocksWithoutAskingTheSystem) {
  release_cached_memory();
  { const Tensor warm = Tensor::empty({1000}); }
  const AllocatorStatistics before = allocator_statistics();
  for (int i = 0; i < 10; ++i) {
    const Tensor again = Tensor::empty({1000 - i});
    EXPECT_GE(allocator_statistics().live_bytes - before.live_bytes, again.bytes());
  }
  EXPECT_EQ(allocator_statistics().system_calls, before.system_calls);
  EXPECT_EQ(allocator_statistics().live_bytes, before.live_bytes);
  release_cached_memory();
  EXPECT_EQ(allocator_statistics().cached_bytes, 0);
  EXPECT_GT(allocator_statistics().system_calls, before.system_calls);
}

TEST(Allocator, ABlockServesRequestsThatAreALittleSmaller) {
  release_cached_memory();
  { const Tensor warm = Tensor::empty({1000, 256}); }
  const AllocatorStatistics before = allocator_statistics();
  for (const int64_t rows : {990, 905, 850}) {
    const Tensor similar = Tensor::empty({rows, 256});
    EXPECT_EQ(allocator_statistics().live_bytes - before.live_bytes, before.cached_bytes) << rows << ": the same block";
  }
  EXPECT_EQ(allocator_statistics().system_calls, before.system_calls);
  EXPECT_EQ(allocator_statistics().cached_bytes, before.cached_bytes);
  { const Tensor smaller = Tensor::empty({500, 256}); }
  EXPECT_EQ(allocator_statistics().system_calls, before.system_calls + 1);
}

TEST(Allocator, PeakIsTheMostThatLived) {
  reset_allocator_peak();
  const int64_t start = allocator_statistics().peak_live_bytes;
  { const Tensor large = Tensor::empty({1 << 20}); }
  EXPECT_GE(allocator_statistics().peak_live_bytes - start, 4 << 20);
  reset_allocator_peak();
  EXPECT_EQ(allocator_statistics().peak_live_bytes, start);
}

TEST(Allocator, BlocksAreAligned) {
  for (const int64_t bytes : {1, 65, 1000, 1 << 20, 3 << 20}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(allocate(bytes).get()) % 64, 0u) << bytes;
  }
  EXPECT_THAT([] { allocate(-1); }, ThrowsMessage<Error>(HasSubstr("cannot allocate -1 bytes")));
}

}  // namespace
}  // namespace weft
