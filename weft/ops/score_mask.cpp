#include "weft/ops/score_mask.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/threads.h"

namespace weft::ops {

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// One mask as rows of keys.
struct Rows {
  Tensor values;  // contiguous, rank 4, boolean bytes or f32
  bool is_boolean = false;
  bool true_attends = true;
  int64_t key_stride = 1;

  Rows(const MaskPart& part)
      : values(part.values.contiguous()),
        is_boolean(values.dtype() == DType::boolean || values.dtype() == DType::u8),
        true_attends(part.true_attends),
        key_stride(values.dim(3) == 1 ? 0 : 1) {
    if (!is_boolean) values = values.to(DType::f32);
  }
  int64_t row(int64_t s, int64_t h, int64_t i) const {
    const auto place = [&](int dimension, int64_t index) { return values.dim(dimension) == 1 ? 0 : index; };
    return ((place(0, s) * values.dim(1) + place(1, h)) * values.dim(2) + place(2, i)) * values.dim(3);
  }
  // Takes from allowed (k) what the mask forbids, adds its numbers to `added` (k).
  void apply(int64_t s, int64_t h, int64_t i, std::span<uint8_t> allowed, float* added) const {
    if (is_boolean) {
      const auto* bits = reinterpret_cast<const uint8_t*>(values.raw()) + row(s, h, i);
      for (size_t j = 0; j < allowed.size(); ++j) {
        allowed[j] &= static_cast<uint8_t>((bits[static_cast<int64_t>(j) * key_stride] != 0) == true_attends);
      }
    } else {
      const float* numbers = values.data<float>() + row(s, h, i);
      for (size_t j = 0; j < allowed.size(); ++j) added[j] += numbers[static_cast<int64_t>(j) * key_stride];
    }
  }
};

void check(std::string_view operation, const Tensor& mask, const ScoreExtent& extent) {
  require(mask.dtype() == DType::boolean || mask.dtype() == DType::u8 || mask.dtype() == DType::f32 ||
              mask.dtype() == DType::bf16,
          "{}: a mask is boolean or f32, got {}", operation, name_of(mask.dtype()));
  const std::array<int64_t, 4> sizes = {extent.b, extent.h, extent.q, extent.k};
  bool fits = mask.rank() == 4;
  for (int i = 0; fits && i < 4; ++i) fits = mask.dim(i) == 1 || mask.dim(i) == sizes[static_cast<size_t>(i)];
  require(fits, "{}: the mask {} does not fit {} sequences × {} heads × {} queries × {} keys", operation, mask.shape(),
          extent.b, extent.h, extent.q, extent.k);
}

// Where the numbers are −∞ the bit becomes 0, and the other way round. Whether any other number is not 0.
bool agree(std::span<uint8_t> allowed, float* added) {
  bool adds = false;
  for (size_t j = 0; j < allowed.size(); ++j) {
    if (added[j] == kNever) allowed[j] = 0;
    if (allowed[j] == 0) {
      added[j] = kNever;
    } else {
      adds = adds || added[j] != 0.0f;
    }
  }
  return adds;
}

}  // namespace

ScoreMask combine_masks(std::string_view operation, std::span<const MaskPart> parts, const ScoreExtent& extent,
                        bool causal) {
  ScoreMask result;
  std::vector<Rows> masks;
  int64_t b = 1, h = 1;
  bool numbers = false;
  for (const MaskPart& part : parts) {
    if (!part.values.defined()) continue;
    check(operation, part.values, extent);
    masks.emplace_back(part);
    b = std::max(b, part.values.dim(0));
    h = std::max(h, part.values.dim(1));
    numbers = numbers || !masks.back().is_boolean;
  }
  result.causal = causal && extent.q == extent.k && extent.appended == 0;
  const bool corner = causal && !result.causal;
  if (masks.empty() && !corner) return result;

  const Shape shape = {b, h, extent.q, extent.k + extent.appended};
  Tensor allowed = Tensor::empty(shape, DType::u8);
  Tensor additive = numbers ? Tensor::zeros(shape) : Tensor();
  std::atomic<bool> forbids = false, adds = false;
  parallel_for(b * h * extent.q, 64, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t i = row % extent.q, first = row * shape[3];
      const std::span<uint8_t> bits(allowed.data<uint8_t>() + first, static_cast<size_t>(shape[3]));
      float* added = numbers ? additive.data<float>() + first : nullptr;
      std::ranges::fill(bits, uint8_t{1});
      const auto own = bits.first(static_cast<size_t>(extent.k));
      for (const Rows& mask : masks) mask.apply(row / extent.q / h, row / extent.q % h, i, own, added);
      if (corner && i + 1 < extent.k) std::ranges::fill(own.subspan(static_cast<size_t>(i + 1)), uint8_t{0});
      if (numbers && agree(own, added)) adds = true;
      if (std::ranges::count(own, uint8_t{0}) > 0) forbids = true;
    }
  });
  if (adds) {
    result.additive = std::move(additive);
  } else if (forbids) {
    result.allowed = std::move(allowed);
  }
  return result;
}

}  // namespace weft::ops
