#include "weft/tensor/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "weft/base/error.h"

namespace weft {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kHugeFrom = size_t{1} << 20;

size_t rounded_to(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

// Sizes are rounded up to eight steps per doubling, so that slightly different requests share blocks at ≤ 12.5 % waste.
size_t rounded(size_t bytes) {
  if (bytes <= 512) return std::max(kAlignment, rounded_to(bytes, kAlignment));
  return rounded_to(bytes, std::bit_floor(bytes) / 8);
}

// The largest free block that a request may take. Batches of packed sequences differ in their rows from step to step:
// with blocks of its own for every size, a run would come to hold each tensor in every size that it ever had.
size_t largest_for(size_t size) { return size + size / 4; }

class CachingAllocator {
 public:
  std::shared_ptr<std::byte> allocate(size_t bytes) {
    const Block block = take(rounded(bytes));
    return {block.begin, [this, size = block.size](std::byte* pointer) { give_back(pointer, size); }};
  }

  AllocatorStatistics statistics() {
    std::lock_guard lock(mutex_);
    return statistics_;
  }

  void reset_peak() {
    std::lock_guard lock(mutex_);
    statistics_.peak_live_bytes = statistics_.live_bytes;
  }

  void release() {
    std::lock_guard lock(mutex_);
    for (auto& [size, blocks] : free_) {
      for (std::byte* block : blocks) std::free(block);
      statistics_.system_calls += static_cast<int64_t>(blocks.size());
    }
    free_.clear();
    statistics_.cached_bytes = 0;
  }

 private:
  struct Block {
    std::byte* begin;
    size_t size;
  };

  // The smallest free block that does, or else a new one.
  Block take(size_t size) {
    std::lock_guard lock(mutex_);
    const auto end = free_.upper_bound(largest_for(size));
    for (auto found = free_.lower_bound(size); found != end; ++found) {
      if (found->second.empty()) continue;
      const Block block{found->second.back(), found->first};
      found->second.pop_back();
      statistics_.cached_bytes -= static_cast<int64_t>(block.size);
      count_live(block.size);
      return block;
    }
    const Block block{ask_system(size), size};
    count_live(size);
    return block;
  }

  void count_live(size_t size) {
    statistics_.live_bytes += static_cast<int64_t>(size);
    statistics_.peak_live_bytes = std::max(statistics_.peak_live_bytes, statistics_.live_bytes);
  }

  std::byte* ask_system(size_t size) {
    ++statistics_.system_calls;
    const size_t alignment = size >= kHugeFrom ? kHugePage : kAlignment;
    void* block = std::aligned_alloc(alignment, rounded_to(size, alignment));
    require(block != nullptr,
            "memory: the system has no {} bytes left ({} live); use a smaller batch, context or model", size,
            statistics_.live_bytes);
    // Advice only: where the kernel refuses, the block works the same with small pages.
    if (size >= kHugeFrom) (void)madvise(block, size, MADV_HUGEPAGE);
    return static_cast<std::byte*>(block);
  }

  void give_back(std::byte* block, size_t size) {
    std::lock_guard lock(mutex_);
    statistics_.live_bytes -= static_cast<int64_t>(size);
    statistics_.cached_bytes += static_cast<int64_t>(size);
    free_[size].push_back(block);
  }

  std::mutex mutex_;
  std::map<size_t, std::vector<std::byte*>> free_;
  AllocatorStatistics statistics_;
};

// Never destroyed: tensors of static storage duration may outlive any order of destruction.
CachingAllocator& allocator() {
  static auto* instance = new CachingAllocator;
  return *instance;
}

}  // namespace

AllocatorStatistics allocator_statistics() { return allocator().statistics(); }
void reset_allocator_peak() { allocator().reset_peak(); }
void release_cached_memory() { allocator().release(); }

std::shared_ptr<std::byte> allocate(int64_t bytes) {
  require(bytes >= 0 && bytes < (int64_t{1} << 46), "memory: cannot allocate {} bytes", bytes);
  return allocator().allocate(static_cast<size_t>(bytes));
}

}  // namespace weft
