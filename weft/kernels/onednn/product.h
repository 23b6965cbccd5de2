#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/base/dtype.h"
#include "weft/kernels/activation.h"
#include "weft/kernels/onednn/library.h"
#include "weft/kernels/view.h"

namespace weft::kernels::onednn {

// How an operand lies in memory: element (i, r, c) of matrix i at i · batch + r · row + c · col.
struct OperandLayout {
  DType dtype = DType::f32;
  int64_t batch = 0;
  int64_t row = 0;
  int64_t col = 1;
  bool operator==(const OperandLayout&) const = default;
};

// All that the code of a product depends on. c (m, n) = activation(a (m, k) · b (k, n) + bias) + residual, `batch`
// times.
struct ProductShape {
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  OperandLayout a;
  OperandLayout b;  // with b_packed only its dtype counts
  OperandLayout c;
  OperandLayout residual;
  bool b_packed = false;
  bool has_bias = false;
  bool has_residual = false;
  bool accumulate = false;
  Activation activation = Activation::none;
  int threads = 1;
  bool operator==(const ProductShape&) const = default;
};

struct ProductData {
  const void* a = nullptr;
  const void* b = nullptr;
  dnnl_memory_t packed_b = nullptr;  // instead of b
  void* c = nullptr;
  const float* bias = nullptr;
  const void* residual = nullptr;
};

// A product of one shape: its generated code, if oneDNN has any, and what it needs to run.
class Product {
 public:
  // fast: generated code; reference: oneDNN's plain loops, a hundred times slower; none: oneDNN cannot compute it.
  enum class Quality { none, reference, fast };

  explicit Product(const ProductShape& shape);
  Quality quality() const { return quality_; }
  void run(const ProductData& data);

 private:
  struct Arguments {
    std::vector<dnnl::memory> memories;  // one per entry of `list`, but for packed b
    std::vector<dnnl_exec_arg_t> list;
  };
  std::unique_ptr<Arguments> take_arguments();
  std::unique_ptr<Arguments> make_arguments() const;

  ProductShape shape_;
  Quality quality_ = Quality::none;
  dnnl::matmul::primitive_desc descriptor_;
  dnnl::matmul primitive_;
  dnnl::memory::desc bias_;
  dnnl::memory::desc residual_;
  size_t scratchpad_bytes_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Arguments>> idle_;  // argument sets that no thread is using
};

// The product of this shape, from a bounded cache.
std::shared_ptr<Product> find_product(const ProductShape& shape);
int64_t product_cache_size();
constexpr int64_t product_cache_capacity = 1024;

// The layout in which a (k, n) right operand is read fastest; always the same one for the same arguments.
dnnl::memory::desc packed_layout(int64_t k, int64_t n, DType dtype);

// Whether this processor has generated code for products of bf16 matrices.
bool multiplies_bf16();

}  // namespace weft::kernels::onednn
