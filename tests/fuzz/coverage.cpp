#include "tests/fuzz/coverage.h"

#include <array>

namespace weft::fuzz {

namespace {

constexpr uintptr_t places = uintptr_t{1} << 20;

std::array<uint8_t, places> reached;
uint64_t count = 0;

}  // namespace

uint64_t places_reached() { return count; }

}  // namespace weft::fuzz

// What -fsanitize-coverage=trace-pc calls at the start of every basic block. Places are told apart by their distance
// from here, which does not change with where the program is loaded.
extern "C" void __sanitizer_cov_trace_pc() {
  const auto here = reinterpret_cast<uintptr_t>(&weft::fuzz::places_reached);
  const auto caller = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  uint8_t& place = weft::fuzz::reached[(caller - here) % weft::fuzz::places];
  if (place != 0) return;
  place = 1;
  ++weft::fuzz::count;
}
