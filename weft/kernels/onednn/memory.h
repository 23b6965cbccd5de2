#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft::kernels::onednn {

// Memory aligned for the widest vectors that grows and is reused; growing loses what it held.
class AlignedBuffer {
 public:
  void* reserve(size_t bytes);
  void* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(void* pointer) const;
  };
  std::unique_ptr<void, Free> data_;
  size_t capacity_ = 0;
};

// Temporaries of one product. Each thread has one buffer of each kind, kept for the next product.
enum class Temporary { scratchpad, left, right, result };
void* temporary(Temporary kind, size_t bytes);

}  // namespace weft::kernels::onednn
