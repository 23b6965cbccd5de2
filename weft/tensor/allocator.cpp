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

// Sizes are rounded up to eight steps per doubling, so that slightly different requests share blocks at ≤ 12.5 % waste.
size_t rounded(size_t bytes) {
  if (bytes <= 512) return std::max<size_t>(kAlignment, (bytes + kAlignment - 1) & ~(kAlignment - 1));
  const size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

class CachingAllocator {
 public:
  std::shared_ptr<std::byte> allocate(size_t bytes) {
    const size_t size = rounded(bytes);
    std::byte* block = take(size);
    return {block, [this, size](std::byte* pointer) { give_back(pointer, size); }};
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
  std::byte* take(size_t size) {
    std::lock_guard lock(mutex_);
    statistics_.live_bytes += static_cast<int64_t>(size);
    statistics_.peak_live_bytes = std::max(statistics_.peak_live_bytes, statistics_.live_bytes);
    if (auto found = free_.find(size); found != free_.end() && !found->second.empty()) {
      std::byte* block = found->second.back();
      found->second.pop_back();
      statistics_.cached_bytes -= static_cast<int64_t>(size);
      return block;
    }
    return ask_system(size);
  }

  std::byte* ask_system(size_t size) {
    ++statistics_.system_calls;
    const size_t alignment = size >= kHugeFrom ? kHugePage : kAlignment;
    void* block = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (block == nullptr) {
      statistics_.live_bytes -= static_cast<int64_t>(size);
      fail("memory: the system has no {} bytes left ({} live); use a smaller batch, context or model", size,
           statistics_.live_bytes);
    }
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
