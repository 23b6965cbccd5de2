#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::kernels {

// What a kernel keeps working memory for. Each thread owns one piece per use.
enum class ScratchUse { row, partial_sums };

// At least `count` floats, aligned to 64 bytes, with any content, valid until the same thread asks for the same use
// again. Kept between calls, so that steady work asks the system for nothing.
inline float* scratch_floats(ScratchUse use, int64_t count) {
  constexpr size_t alignment = 64;
  thread_local std::array<std::vector<float>, 2> kept;
  std::vector<float>& memory = kept[static_cast<size_t>(use)];
  const size_t needed = static_cast<size_t>(count) + alignment / sizeof(float);
  if (memory.size() < needed) memory.resize(needed);
  const size_t misaligned = reinterpret_cast<uintptr_t>(memory.data()) % alignment;
  return memory.data() + (misaligned == 0 ? 0 : (alignment - misaligned) / sizeof(float));
}

}  // namespace weft::kernels
