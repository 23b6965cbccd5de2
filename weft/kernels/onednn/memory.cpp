#include "weft/kernels/onednn/memory.h"

#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <new>

namespace weft::kernels::onednn {

void AlignedBuffer::Free::operator()(void* pointer) const { std::free(pointer); }

void* AlignedBuffer::reserve(size_t bytes) {
  if (bytes <= capacity_) return data_.get();
  constexpr size_t cache_line = 64;
  constexpr size_t huge_page = size_t{2} << 20;
  const size_t alignment = bytes >= huge_page ? huge_page : cache_line;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  data_.reset();
  capacity_ = 0;
  data_.reset(std::aligned_alloc(alignment, rounded));
  if (!data_) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  // Only advice: a kernel without huge pages refuses, and the memory serves as well.
  if (alignment == huge_page) madvise(data_.get(), rounded, MADV_HUGEPAGE);
#endif
  capacity_ = rounded;
  return data_.get();
}

void* temporary(Temporary kind, size_t bytes) {
  thread_local std::array<AlignedBuffer, 4> buffers;
  return buffers[static_cast<size_t>(kind)].reserve(bytes);
}

}  // namespace weft::kernels::onednn
