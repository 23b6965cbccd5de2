#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft {

// What the caching allocator holds. "System" counts requests to the operating system: once a training step has run,
// further steps of the same shapes make none.
struct AllocatorStatistics {
  int64_t live_bytes = 0;       // in blocks that somebody owns
  int64_t peak_live_bytes = 0;  // the most that live_bytes has been since the last reset
  int64_t cached_bytes = 0;     // in free blocks kept for reuse
  int64_t system_calls = 0;     // blocks asked of or given back to the system so far
};

AllocatorStatistics allocator_statistics();
void reset_allocator_peak();   // peak_live_bytes = live_bytes
void release_cached_memory();  // gives every free block back to the system

// A block of at least `bytes` bytes, aligned to 64, uninitialised; it returns to the cache with its last owner. Blocks
// of one MiB and more are aligned for and advised towards huge pages. Thread-safe. weft::Error when the system has no
// memory left.
std::shared_ptr<std::byte> allocate(int64_t bytes);

}  // namespace weft
