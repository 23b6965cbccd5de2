#include "weft/base/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "weft/base/rng.h"

namespace weft {
namespace {

constexpr uint32_t all_16_bits = 1u << 16;

// The value that IEEE 754 gives the fields, computed in double: exact for every format here.
double value_of(uint32_t bits, int exponent_bits, int fraction_bits) {
  const uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  const int largest = (1 << exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & largest;
  const double sign = (bits >> (exponent_bits + fraction_bits)) != 0 ? -1.0 : 1.0;
  if (exponent == largest) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double significand = fraction + (exponent != 0 ? std::ldexp(1.0, fraction_bits) : 0.0);
  return sign * std::ldexp(significand, std::max(exponent, 1) - bias - fraction_bits);
}

void expect_same(float got, double want, uint32_t bits) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << "bits " << bits;
  } else {
    EXPECT_EQ(static_cast<double>(got), want) << "bits " << bits;
    EXPECT_EQ(std::signbit(got), std::signbit(want)) << "bits " << bits;
  }
}

TEST(DType, SizesAndNames) {
  EXPECT_EQ(size_of(DType::f32), 4u);
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_EQ(size_of(DType::f16), 2u);
  EXPECT_EQ(size_of(DType::i32), 4u);
  EXPECT_EQ(size_of(DType::i64), 8u);
  EXPECT_EQ(size_of(DType::u8), 1u);
  EXPECT_EQ(size_of(DType::boolean), 1u);
  EXPECT_EQ(name_of(DType::bf16), "bf16");
  EXPECT_EQ(name_of(DType::boolean), "bool");
  EXPECT_EQ(dtype_of<Float16>(), DType::f16);
}

TEST(BFloat16, EveryValueReadsAsIeeeAndComesBack) {
  for (uint32_t bits = 0; bits < all_16_bits; ++bits) {
    BFloat16 value;
    value.bits = static_cast<uint16_t>(bits);
    expect_same(value, value_of(bits, 8, 7), bits);
    const BFloat16 back{static_cast<float>(value)};
    if (std::isnan(static_cast<float>(value))) {
      EXPECT_TRUE(std::isnan(static_cast<float>(back))) << bits;
    } else {
      EXPECT_EQ(back.bits, value.bits);
    }
  }
}

TEST(BFloat16, RoundsToTheNearestAndTiesToEven) {
  // Between two neighbours of bf16 lie 65535 floats: just below the middle, the middle and just above it decide.
  for (uint32_t upper = 0; upper < 0x7f80u; ++upper) {
    const auto rounded = [&](uint32_t lower) { return BFloat16(std::bit_cast<float>((upper << 16) | lower)).bits; };
    ASSERT_EQ(rounded(0x7fff), upper);
    ASSERT_EQ(rounded(0x8000), upper + (upper & 1u));
    ASSERT_EQ(rounded(0x8001), upper + 1);
  }
  EXPECT_TRUE(std::isinf(static_cast<float>(BFloat16(std::numeric_limits<float>::max()))));
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0xffffffffu)))));
}

TEST(BFloat16, RelativeErrorIsHalfAUnit) {
  const Rng rng{.seed = 4, .stream = 0};
  for (uint64_t i = 0; i < 10000; ++i) {
    const float value = rng.normal(i);
    // 2^-8 relative to the value is half a unit in the last of 8 significant bits.
    EXPECT_LE(std::abs(static_cast<float>(BFloat16(value)) - value), std::abs(value) * 0x1p-8f);
  }
}

TEST(Float16, EveryValueReadsAsIeee) {
  for (uint32_t bits = 0; bits < all_16_bits; ++bits) {
    expect_same(Float16{static_cast<uint16_t>(bits)}, value_of(bits, 5, 10), bits);
  }
}

}  // namespace
}  // namespace weft
