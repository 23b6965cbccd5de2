#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

// Element types of tensors and files. bf16 is stored and multiplied (accumulating in f32); f16 is only read.
enum class DType : uint8_t { f32, bf16, f16, i32, i64, u8, boolean };

size_t size_of(DType dtype);            // bytes of one element
std::string_view name_of(DType dtype);  // "f32", "bf16", …

// The upper half of a float: 8 bits of exponent, 7 of fraction.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  // Rounds to nearest, ties to even; NaN stays NaN.
  explicit BFloat16(float value) {
    const uint32_t u = std::bit_cast<uint32_t>(value);
    const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<uint16_t>(nan ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

// IEEE 754 binary16, as found in published checkpoints.
struct Float16 {
  uint16_t bits = 0;
  operator float() const;
};

template <typename T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<BFloat16>() {
  return DType::bf16;
}
template <>
constexpr DType dtype_of<Float16>() {
  return DType::f16;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::i32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::i64;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::u8;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::boolean;
}

}  // namespace weft
